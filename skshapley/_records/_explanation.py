"""The frozen record of an explanation: attributions, their uncertainty and their cost."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import numpy as np
import pandas as pd

from skshapley._records import _selection, _summary
from skshapley._records._importance import (
    check_confidence,
    cohort_masks,
    flat,
    flat_errors,
    inferred_importance,
    long_frame,
    size_ranks,
    spread_errors,
    table_index,
    unsorted_importance,
)
from skshapley._records._interactions import Interactions
from skshapley._records._interchange import (
    parts_of_shap,
    to_shap,
    to_shapiq,
)
from skshapley._records._outcome import (
    BY_OUTPUT,
    BY_ROW,
    Record,
    changed,
    check_same,
    joined,
    quantity,
)
from skshapley._records._parquet import ExplanationFile, arrow_table, write_table
from skshapley._records._selection import folded
from skshapley._tables import joined_index
from skshapley._tools import Hinting, corrected, write_whole

# Names in shap and elsewhere, and their counterparts
INSTEAD = {
    "shap_values": "values",
    "expected_value": "base_values",
    "feature_importances_": "importance()",
    "errors": "standard_errors",
    "to_parquet": "save(path)",
    **dict.fromkeys(("read", "read_parquet", "from_file"), "Explanation.load(path)"),
    "plots": "plot, as in plot.bar()",
    "show": "plot.bar(), or report() for a page",
    "columns": "feature_names",
    "n_features": "len(explanation.feature_names)",
    "iloc": "explanation[0], or explanation[0, 2]",
    "row": "explanation[0]",
    "rows": "index",
    **dict.fromkeys(("y_pred", "fx", "output_values"), "predictions"),
    "method": "settings.method",
    "stderr": "standard_errors",
    **dict.fromkeys(
        ("confidence_interval", "conf_int", "confidence_intervals", "intervals"),
        "values and 1.96 * standard_errors",
    ),
    **dict.fromkeys(
        ("pvalues", "p_values", "p_value"),
        "importance(), or skshapley.comparison.compare(...)",
    ),
    **dict.fromkeys(
        ("print", "summary", "info"),
        "print(explanation), or plot.beeswarm()",
    ),
    "describe": "to_frame().describe()",
    "explain": "explainer.explain(X)",
    "T": "values.T",
    "head": "explanation[:5]",
    "cohorts": "skshapley.comparison.find_cohorts(explanation)",
    "display_data": "data",
    "sample": "explanation[:100]",
    "sort_values": "to_frame().sort_values(...)",
    "to_html": 'report("report.html")',
    "to_numpy": "values",
    "sum": "values.sum(axis=1)",
    **{
        name: f"values.{name}(axis=0)"
        for name in ("max", "min", "std", "argsort", "var")
    },
    **{
        name: f"to_frame().{name}(...)"
        for name in ("to_csv", "to_dict", "to_json", "to_excel")
    },
    **dict.fromkeys(("to_pandas", "to_dataframe", "to_df", "df"), "to_frame()"),
    **{
        name: f"plot.{name}(...)"
        for name in ("waterfall", "bar", "beeswarm", "dependence")
    },
}


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Hinting, Record):
    """Attributions of r rows over p players, with their standard errors and costs.

    A model with one output gives 2-D attributions ``(r, p)``; several outputs give
    ``(r, p, k)``. For each row and output,
    ``base_values + values.sum(axis=1) + efficiency_gap == predictions``, minus `others`
    if features were left out. The gap of Shapley values is 0 up to rounding. Other
    values (Banzhaf, beta, and values on graphs) need not add up.

    Select rows, features and outputs by position, name or label: ``explanation[:10]``,
    ``explanation["age"]``, ``explanation[3, ["age", "sex"]]``,
    ``explanation[:, :, "yes"]``, ``explanation.loc["row 7"]``. A selection is an
    Explanation. A single row or feature keeps its axis; only a single output loses it.
    NumPy functions use the `values` of an explanation.

    Attributes
    ----------
    values : ndarray of shape (r, p) or (r, p, k)
        Attributions in the units of the model's response.
    standard_errors : ndarray of the same shape, or None
        Standard errors of the attributions against the given background. None if the
        method has no standard errors; NaN if a row has too few units.
    base_values : ndarray of shape (r,) or (r, k)
        v(empty): the mean response over the background.
    predictions : ndarray of shape (r,) or (r, k)
        v(all): the response of the row.
    data : DataFrame of shape (r, p)
        The explained rows, with one column per player; groups are shown as text.
    feature_names : ndarray of shape (p,), str
        Names of the players.
    output_names : ndarray of shape (k,), or None
        Names of the outputs, e.g. class labels; None for a single output.
    n_evaluations : ndarray of shape (r,)
        Evaluations per row, including v(empty) and v(all). One evaluation is v of one
        coalition, against one or more background rows.
    n_model_rows : ndarray of shape (r,), int
        Model rows per row, without those of v(empty), which all rows share. NaN if
        unknown, like the evaluations.
    converged : ndarray of shape (r,), bool
        True for rows that are exact, or accurate enough for the stopping rule.
    settings : Settings
        Parameters and methods, as attributes: ``explanation.settings.sampler``.
    background_errors : ndarray of the shape of `values`, or None
        Standard errors due to the background as a sample of a population. To combine
        them with `standard_errors`, add squares. NaN or None if unknown.
    interactions : Interactions or None
        Interactions of all pairs of players, if requested.
    refit_values : ndarray of shape (r, p, b) or (r, p, b, k), or None
        Attributions by b refits of the model, from `skshapley.RefitExplainer`.
    others : ndarray of the shape of `base_values`, or None
        Sum of the unselected features, for example in ``explanation["age"]``. Base
        values and predictions are still those of the model.
    plot : PlotAccessor
        The displays, as methods: ``explanation.plot.bar()``.
    report : method
        One HTML file with pictures and tables: ``explanation.report("report.html")``.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2)))
    >>> explanation = explainer.explain(np.array([[1.0, 1.0], [2.0, 0.0]]))
    >>> explanation.values
    array([[1., 2.],
           [2., 0.]])
    >>> explanation[[1]].to_frame()
        x0   x1
    1  2.0  0.0
    >>> explanation[:, "x1"].values
    array([[2.],
           [0.]])
    >>> np.asarray(abs(explanation).mean())
    array([[1.5, 1. ]])
    """

    interactions: Interactions | None = None

    _instead = INSTEAD
    # `skshapley/__init__.py` sets pictures and reports, which are in higher layers.
    plot: ClassVar[Any]
    report: ClassVar[Callable[..., Path | None]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.interactions is not None and self.interactions.rows is not self.index:
            object.__setattr__(
                self,
                "interactions",
                replace(self.interactions, rows=self.index),
            )

    @property
    def refit_errors(self) -> np.ndarray | None:
        """Standard errors due to the training data, of the shape of `values`, or None.

        They are the standard deviations over refits on half samples, widened as for
        Student's t. They estimate the change with another training sample of the same
        size, and say nothing about errors that all such models share.
        """
        return None if self.refit_values is None else spread_errors(self.refit_values)

    @property
    def sign_stability(self) -> np.ndarray | None:
        """The share of refits that give a value the same sign, or None without refits."""
        return (
            None
            if self.refit_values is None
            else np.mean(
                np.sign(self.refit_values) == np.sign(self.values)[:, :, None],
                axis=2,
            )
        )

    @property
    def rank_stability(self) -> np.ndarray | None:
        """The share of refits that give a feature the same rank, or None without refits.

        Features are ranked by size in each row and output.
        """
        return (
            None
            if self.refit_values is None
            else np.mean(
                size_ranks(self.refit_values) == size_ranks(self.values)[:, :, None],
                axis=2,
            )
        )

    def __iter__(self) -> Iterator["Explanation"]:
        """Yield each row as an Explanation of shape ``(1, p)``."""
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the values, for NumPy."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getitem__(self, key) -> "Explanation":
        """Return some rows, features or outputs, as an Explanation.

        ``[rows]``, ``[features]`` by name, ``[rows, features]`` or
        ``[rows, features, output]``. Rows are an int (one row, still 2-D), a slice,
        positions or a mask. Features are names, positions, a slice or a mask. The
        output is a name or position. Strings are names, and ints are positions.

        The sum of unselected features is stored in `others`; their interactions are
        dropped.
        """
        return _selection.chosen(self, key)

    @property
    def loc(self) -> "_selection.LabelIndexer[Explanation]":
        """Select rows by label, as in a frame: ``explanation.loc["a", "age"]``."""
        return _selection.LabelIndexer(self)

    def __abs__(self) -> "Explanation":
        """Return the sizes of the attributions.

        They have the standard errors of the attributions, which are upper bounds. They
        do not add up to a prediction: base values and predictions are NaN, and
        interactions are dropped.
        """
        # Sizes do not add up to a prediction, so the ends become NaN.
        unknown = np.full(self.base_values.shape, np.nan)
        return replace(
            self,
            base_values=unknown,
            predictions=unknown,
            others=None,
            interactions=None,
            **changed(self, ("values", "refit_values"), np.abs),
        )

    abs = property(__abs__)

    def __neg__(self) -> NoReturn:
        """Raise TypeError: values with the opposite sign explain another model."""
        raise TypeError("Explanation takes no minus sign: use -explanation.values.")

    def __call__(self, *args, **kwargs) -> NoReturn:
        """Raise TypeError: ``abs`` and ``loc`` are attributes."""
        raise TypeError(
            "Explanation is not a function: write explanation.abs without parentheses, "
            "or explain rows by explainer.explain(X)."
        )

    def __sub__(self, other) -> Any:
        """Raise TypeError for explanations: a difference would lose their errors."""
        if not isinstance(other, Explanation):
            return NotImplemented
        raise TypeError(
            "Explanation takes no + and -: use explanation.values - other.values, or"
            " skshapley.comparison.compare(explanation, other), which has errors."
        )

    __add__ = __sub__

    def mean(self, axis=0) -> "Explanation":
        """Return the mean over the rows, as an explanation of one row called "mean".

        The mean attributions add up to the mean prediction. Their standard errors are
        for exactly these rows, which have independent errors. The background error is
        common to all rows and does not shrink (an upper bound). Evaluations and model
        rows are totals.

        For importances use `importance`: its errors include the choice of rows.

        Parameters
        ----------
        axis : int, default=0
            Must be 0.

        Raises
        ------
        ValueError
            For another axis, or without rows.
        """
        if axis != 0 or isinstance(axis, bool):
            raise ValueError(
                f"Explanation.mean takes axis=0, the mean over rows; got {axis!r}: "
                "attributions of different features are summed, as by "
                "explanation.values.sum(axis=1)."
            )
        if not len(self):
            raise ValueError("Explanation.mean needs at least one row; got none.")
        parts = changed(self, BY_OUTPUT, lambda part: part.mean(axis=0, keepdims=True))
        if self.standard_errors is not None:
            # Rows are sampled independently, so the variances of their errors add up.
            parts["standard_errors"] = np.sqrt(
                (self.standard_errors**2).sum(axis=0, keepdims=True),
            ) / len(self)
        # A mean row has no data: the mean of a feature is no row that was explained.
        return replace(
            self,
            data=pd.DataFrame(
                np.full((1, len(self.feature_names)), None, dtype=object),
                ["mean"],
                self.data.columns,
            ),
            n_evaluations=self.n_evaluations.sum(keepdims=True),
            n_model_rows=self.n_model_rows.sum(keepdims=True),
            converged=np.array([self.converged.all()]),
            interactions=None,
            **parts,
        )

    def output(self, name) -> "Explanation":
        """Return the explanation of one output of several.

        Parameters
        ----------
        name : label
            One of `output_names`.

        Raises
        ------
        ValueError
            For an unknown output.
        """
        return _selection.output(self, name)

    @corrected
    def folded(self, groups: Mapping, level: int = 1) -> "Explanation":
        """Return the explanation of groups of players, as sums over their members.

        For nested groups of an explainer, the sums are the values that the groups have
        as players. For other groups, they are sums and no values of a game.

        Parameters
        ----------
        groups : dict
            As of the explainer, or ``{"name": [players, ...]}``.
        level : int, default=1
            The groups to sum: 1 for the outermost ones, and larger for their parts,
            the players at last.

        Returns
        -------
        explanation : Explanation
            Standard errors are sums too, an upper bound. Interactions are left out.

        Raises
        ------
        ValueError
            For unknown players, groups with the names of players outside them, or a
            level below 1.

        Examples
        --------
        >>> import numpy as np
        >>> from skshapley import ShapleyExplainer
        >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0, 4.0])
        >>> explanation = explainer.fit(np.zeros((1, 3))).explain(np.ones((1, 3)))
        >>> explanation.folded({"first": ["x0", "x1"]}).to_frame()
           first   x2
        0    3.0  4.0
        """
        return folded(self, groups, level)

    @corrected
    def to_frame(self, kind: str = "wide") -> pd.DataFrame:
        """Return the attributions as a DataFrame.

        Parameters
        ----------
        kind : {"wide", "long"}, default="wide"
            "wide": one line per row, one column per player (per output and player, if
            there are several outputs). "long": one line per row, output and player,
            with columns
            ``row, [output,] feature, data, value, standard_error, background_error,
            refit_error``.
        """
        if kind not in ("wide", "long"):
            raise ValueError(
                f'Explanation.to_frame takes kind as "wide" or "long"; got {kind!r}.'
            )
        outputs = self.output_names
        if kind == "wide":
            frame = pd.DataFrame(
                flat(self.values),
                index=self.index,
                columns=self.feature_names if outputs is None else table_index(self),
            )
        else:
            numbers = {
                "data": np.tile(
                    self.data.to_numpy(dtype=object),
                    (1, 1 if outputs is None else len(outputs)),
                ),
                "value": flat(self.values),
                "standard_error": flat_errors(self),
                "background_error": flat_errors(self, "background_errors"),
                "refit_error": flat_errors(self, "refit_errors"),
            }
            frame = long_frame(
                self.index,
                outputs,
                {"feature": self.feature_names},
                numbers,
            )
        if self.settings.learned is not None:
            frame.attrs["method"] = self.settings.method
        return frame

    @corrected
    def importance(
        self,
        cohorts=None,
        *,
        confidence: float | None = None,
        simultaneous: bool = True,
    ) -> pd.DataFrame:
        """Return the mean absolute attribution of each player, largest first, with its errors.

        The rows are treated as a sample of a population. Estimation noise increases the
        size of small attributions, and therefore their means; ``max_bias`` is an upper
        bound of this bias. A larger budget reduces it, but more rows do not. With a
        `confidence`, the bias is removed, except for a rest of at most ``max_bias``.

        Parameters
        ----------
        cohorts : str or array-like of shape (r,), default=None
            A column of `data`, or a label for each row (a mask: True or False). The
            importances are computed within each cohort.
        confidence : float, default=None
            Confidence of intervals and ranks, such as .95. None: no intervals and no
            bias correction.
        simultaneous : bool, default=True
            Whether intervals and ranks hold for all players (and outputs)
            simultaneously, by the largest studentised mean of a multiplier bootstrap
            over rows, or for each separately.

        Returns
        -------
        importance : DataFrame
            Index: cohort (if requested), output (if there are several) and feature.
            Columns, NaN if unknown:

            - ``importance``: the mean absolute attribution;
            - ``standard_error``: its standard error by both causes, from the spread of
              at least two rows;
            - ``rows_error``: the part due to the choice of rows, that is,
              ``standard_error`` without ``estimation_error``;
            - ``estimation_error``: the part due to the standard errors of single rows;
              exact if attributions are far from zero, otherwise an upper bound;
            - ``max_bias``: upper bound of the bias, reached if all attributions are
              zero and their errors normal;
            - ``background_error``: upper bound of the error due to the background as a
              sample. It is common to all rows, so more rows do not reduce it;
            - ``refit_error``: the standard error due to the training data, from refits.
            - ``direction``: the rank correlation of the feature's data and its
              attributions. Near 1, large values of the feature increase the response;
              near -1, they decrease it. NaN for categories without an order and fewer
              than five rows;
            - ``direction_error``: its standard error, by the choice of rows.

            With a confidence, the bias of ``importance`` is removed (so it may be
            negative), and other columns replace the parts of the error:

            - ``low``, ``high``: the interval for these causes of error and for the
              training data (if there are refits), without the background error;
              ``standard_error`` includes the training data, too. In long
              tails and below 100 rows, ``high`` allows for the range of the sizes. It
              is infinite if the rows do not show how large attributions can be: for
              equal non-zero attributions in all rows, and below 300 rows for a feature
              with a single value in all of them (and attributions that are not 0);
            - ``rank``, ``best_rank``, ``worst_rank``: the rank of the player in its
              output, and the limits of the ranks that the data allow.

        Raises
        ------
        ValueError
            For an unknown column, a wrong number of labels, an invalid confidence, or a
            confidence without rows.

        Examples
        --------
        >>> import numpy as np
        >>> from skshapley import ShapleyExplainer
        >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2)))
        >>> explanation = explainer.explain(
        ...     np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 0.0]])
        ... )
        >>> explanation.importance()["importance"]
        feature
        x0    2.00
        x1    0.67
        Name: importance, dtype: float64
        >>> explanation.importance(cohorts=["a", "b", "b"]).loc["b", "importance"]
        feature
        x0    2.5
        x1    0.0
        Name: importance, dtype: float64
        >>> explanation.importance(confidence=0.95)[["low", "high"]].round(1)
                 low  high
        feature
        x0       0.0   6.6
        x1       0.0  13.7
        """
        if cohorts is not None:
            masks = cohort_masks(self, cohorts, "Explanation.importance")
            return pd.concat(
                {
                    label: self[m].importance(
                        confidence=confidence,
                        simultaneous=simultaneous,
                    )
                    for label, m in masks.items()
                },
                names=["cohort"],
            )
        if confidence is None:
            return unsorted_importance(self).sort_values(
                "importance",
                ascending=False,
                kind="stable",
            )
        check_confidence("Explanation.importance", confidence, simultaneous)
        if not len(self):
            raise ValueError(
                "Explanation.importance needs at least one row for a confidence; got none."
            )
        return inferred_importance(lambda: [self], self, confidence, simultaneous)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` with the same numbers, for shap's own plots.

        Its ``data`` are numbers, for the colours of shap's plots; other values are
        replaced by ranks. ``display_data`` has the original values. Most of shap's
        plots draw one output: select it by `output` first.
        """
        return to_shap(self)

    @classmethod
    def from_shap(cls, explanation) -> "Explanation":
        """Return the numbers of a `shap.Explanation` as an Explanation.

        Its ``error_std`` is the spread of single permutations and not a standard error,
        so `standard_errors` are None. Its cost is unknown (NaN). The predictions are
        the base values plus the sums of the attributions.

        Parameters
        ----------
        explanation : shap.Explanation
            An explanation of one or more rows, and one or more outputs.

        Raises
        ------
        TypeError
            For an array, as of ``shap_values``, which has no base values.
        ValueError
            If features differ between rows, as for tokens, or base values are missing.
        """
        return cls(**parts_of_shap(explanation))

    def to_shapiq(self) -> list:
        """Return a first-order `shapiq.InteractionValues` for each row, for shapiq's plots.

        Raises
        ------
        ValueError
            If there are several outputs.
        """
        return to_shapiq(
            self,
            "SV",
            self.values,
            [None if np.isnan(n) else round(n) for n in self.n_evaluations],
        )

    @staticmethod
    def merge(
        explanations: Iterable["Explanation"],
        *more: "Explanation",
    ) -> "Explanation":
        """Return the rows of several explanations of one model as one explanation.

        Parameters
        ----------
        explanations : iterable of Explanation
            In the order of the merged rows.
        *more : Explanation
            Explanations may also be separate arguments:
            ``Explanation.merge(first, second)``.

        Raises
        ------
        ValueError
            If there are no explanations, or their players, outputs or settings such as
            the response method and the index differ.
        """
        every: list[Any] = [explanations, *more] if more else list(explanations)
        if not every:
            raise ValueError(
                "Explanation.merge needs at least one explanation; got none."
            )
        invalid = [part for part in every if not isinstance(part, Explanation)]
        if invalid:
            raise TypeError(
                f"Explanation.merge takes explanations; got {invalid[0]!r:.60}: "
                "Explanation.merge([first, second])."
            )
        subject = every[0]._subject
        for explanation in every[1:]:
            check_same("Explanation.merge", subject, explanation._subject)
        pairs = [part.interactions for part in every if part.interactions is not None]
        parts: dict[str, Any] = {name: joined(every, name) for name in BY_ROW}
        data = pd.concat([part.data for part in every])
        return replace(
            every[0],
            data=data.set_axis(joined_index([part.index for part in every]), axis=0),
            interactions=Interactions.merge(pairs) if pairs else None,
            **parts,
        )

    @property
    def _subject(self) -> dict[str, Any]:
        """The properties that merged explanations must share."""
        pairs = self.interactions
        refits = self.refit_values
        return {
            **quantity(self),
            "reward": self.settings.reward,
            "output": self.settings.output,
            "explained_class": self.settings.explained_class,
            "index of interactions": None if pairs is None else pairs.index,
            "number of refits": None if refits is None else refits.shape[2],
        }

    @corrected
    def save(self, path: str | os.PathLike) -> None:
        """Write the explanation into a Parquet file, which `load` and other programs read.

        The file has one line per row and output, with the columns of the files of
        `skshapley.batches`: ``row``, ``key:<name>`` (the index), ``output`` (if there
        are several), ``prediction``, ``base_value``, then ``value:<feature>``,
        ``error:<feature>``, ``background:<feature>``, ``refit:<feature>`` (if there are
        refits) and ``data:<feature>`` for each feature, and the costs. A column of mixed
        objects becomes JSON.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        TypeError
            If a column of `data` contains objects other than numbers, texts and dates.
        ValueError
            If two features have the same name, the path ends in another format's
            suffix, or an error is negative or infinite.
        OSError
            If the file cannot be written, as on a full disk. An existing file is kept.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from skshapley import Explanation, ShapleyExplainer
        >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     explainer.explain(np.eye(2)).save(f"{folder}/eye.parquet")
        ...     there = Explanation.load(f"{folder}/eye.parquet")
        >>> there.values
        array([[1., 0.],
               [0., 2.]])
        """
        path = Path(path)
        if path.suffix not in ("", ".parquet"):
            raise ValueError(
                f"Explanation.save writes Parquet files, and got {path.name!r}: save to"
                f" {path.stem + '.parquet'!r}, or write a text by "
                "to_frame().to_csv(path)."
            )
        try:
            table, header = arrow_table(self)
        except (TypeError, ValueError) as error:
            # The same type, so that callers can still distinguish the errors.
            raise type(error)(f"Explanation.save: {error}") from error
        write_whole(path, lambda file: write_table(file, table, header))

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Explanation":
        """Read a file written by `save`.

        Names, types and sizes are checked before the data are read. Loading runs no
        code.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        ValueError
            If the file is damaged, has another format, or was written by a later
            version.
        """
        return cls(**ExplanationFile.open(Path(path)).parts())

    __repr__ = _summary.as_text
    _repr_html_ = _summary.as_html

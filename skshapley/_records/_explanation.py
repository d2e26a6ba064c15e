"""The frozen record of an explanation: attributions, their uncertainty and their cost."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from skshapley._records import _selection, _texts
from skshapley._records._gap import efficiency_gap
from skshapley._records._importance import cohort_masks, importance, player_index
from skshapley._records._inferred import (
    check_confidence,
    flat,
    flat_errors,
    inferred_importance,
    long_frame,
)
from skshapley._records._interactions import Interactions
from skshapley._records._interchange import parts_of_shap, parts_of_shapiq, to_shap
from skshapley._records._outcome import BY_OUTPUT, BY_ROW, Settings, changed, freeze, joined
from skshapley._records._pair_interchange import to_shapiq
from skshapley._records._parquet import ExplanationFile, arrow_table, write_table
from skshapley._tables._portable import Portable
from skshapley._tools._files import write_whole
from skshapley._tools._texts import absent, corrected

UNKNOWN = Settings()
# Names in shap and elsewhere, and their counterparts
INSTEAD = {
    "shap_values": "values",
    "expected_value": "base_values",
    "expected_values": "base_values",
    "output_name": "output_names",
    "feature_importances_": "importance()",
    "errors": "standard_errors",
    "to_parquet": "save(path)",
    "plots": "plot, as in plot.bar()",
    "show": "plot.bar(), or report() for a page",
    "columns": "feature_names",
    "head": "explanation[:5]",
    "cohorts": "skshapley.comparison.find_cohorts(explanation)",
    "display_data": "data",
    "sample": "explanation[:100]",
    "sort_values": "to_frame().sort_values(...)",
    "to_html": 'report("report.html")',
    "to_numpy": "values",
    "sum": "values.sum(axis=1)",
    "std": "values.std(axis=0)",
    **{name: f"to_frame().{name}(...)" for name in ("to_csv", "to_dict", "to_json", "to_excel")},
    **dict.fromkeys(("to_pandas", "to_dataframe", "to_df", "df"), "to_frame()"),
    **{name: f"plot.{name}(...)" for name in ("waterfall", "bar", "beeswarm", "dependence")},
}


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Portable):
    """Attributions of r rows over p players, with their standard errors and costs.

    A model with one output gives 2-D attributions ``(r, p)``; several outputs give ``(r, p, k)``.
    For each instance and output, ``base_values + values.sum(axis=1) + efficiency_gap ==
    predictions``, minus `others` if features were left out. The gap is 0, up to rounding, for
    Shapley values by any method. Other values (Banzhaf, beta, and values on graphs) need not add
    up.

    Rows, features and outputs are chosen by position, name or label: ``explanation[:10]``,
    ``explanation["age"]``, ``explanation[3, ["age", "sex"]]``, ``explanation[:, :, "yes"]``,
    ``explanation.loc["row 7"]``. A selection is an Explanation with the same number of axes: a
    single row or feature keeps its axis, and only a single output loses it. NumPy takes an
    explanation for its `values`.

    Attributes
    ----------
    values : ndarray of shape (r, p) or (r, p, k)
        Attributions in the units of the model's response.
    standard_errors : ndarray of the same shape, or None
        Standard errors of the attributions against the given background. None if the method has no
        standard errors; NaN if an instance has too few units.
    base_values : ndarray of shape (r,) or (r, k)
        v(empty): the mean response over the background.
    predictions : ndarray of shape (r,) or (r, k)
        v(all): the response at the instance.
    data : DataFrame of shape (r, p)
        The instances, one column per player; a group shows its columns' values as text.
    feature_names : ndarray of shape (p,), str
        Names of the players.
    output_names : ndarray of shape (k,), or None
        Names of the outputs, e.g. class labels; None for a single output.
    n_evaluations : ndarray of shape (r,)
        Evaluations per instance, v(empty) and v(all) included. One evaluation is v on one
        coalition, against one background row or more.
    n_model_rows : ndarray of shape (r,), int
        Model rows per instance, without those of v(empty), which all instances share. NaN if
        unknown, like the evaluations.
    converged : ndarray of shape (r,), bool
        Exact, or accurate enough for the stopping rule.
    settings : Settings
        Parameters and methods, as attributes: ``explanation.settings.sampler``.
    background_errors : ndarray of the shape of `values`, or None
        Standard errors due to the background as a sample of a population. Add them to
        `standard_errors` in squares. NaN or None if unknown.
    interactions : Interactions or None
        Interactions of all pairs of players, if requested.
    others : ndarray of the shape of `base_values`, or None
        Sum of the features that were left out, as by ``explanation["age"]``. Base values and
        predictions are still those of the model.
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

    values: np.ndarray
    standard_errors: np.ndarray | None
    base_values: np.ndarray
    predictions: np.ndarray
    data: pd.DataFrame
    feature_names: np.ndarray
    output_names: np.ndarray | None
    n_evaluations: np.ndarray
    n_model_rows: np.ndarray
    converged: np.ndarray
    settings: Settings = UNKNOWN
    background_errors: np.ndarray | None = None
    interactions: Interactions | None = None
    others: np.ndarray | None = None

    # Pictures and reports are rooms above this one: `skshapley/__init__.py` puts them here.
    plot: ClassVar[Any]
    report: ClassVar[Callable[..., Path | None]]

    def __post_init__(self) -> None:
        freeze(self)
        if self.interactions is not None and self.interactions.rows is not self.index:
            object.__setattr__(self, "interactions", replace(self.interactions, rows=self.index))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__post_init__()  # pickled arrays come back writeable

    if not TYPE_CHECKING:

        def __getattr__(self, name) -> Any:
            text = absent(type(self).__name__, name, INSTEAD, dir(self))
            raise AttributeError(text, name=name, obj=self)

    @property
    def efficiency_gap(self) -> np.ndarray:
        """Prediction minus base value minus the sum of attributions, ``(r,)`` or ``(r, k)``."""
        gap = efficiency_gap(self.values, self.base_values, self.predictions)
        return gap if self.others is None else gap - self.others

    @property
    def index(self) -> pd.Index:
        """The index of the rows, as they were given."""
        return self.data.index

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`: ``(r, p)`` or ``(r, p, k)``."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator["Explanation"]:
        """Yield each row as an Explanation of shape ``(1, p)``."""
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        """Return the values, for NumPy."""
        return np.array(self.values, dtype=dtype, copy=copy)

    def __getitem__(self, key) -> "Explanation":
        """Return some rows, features or outputs, as an Explanation.

        ``[rows]``, ``[features]`` by name, ``[rows, features]`` or ``[rows, features, output]``.
        Rows are an int (one instance, still 2-D), a slice, positions or a mask; features are names,
        positions, a slice or a mask; the output is its name or position. Strings are names, and
        ints are positions.

        Of features that are left out, the sum of their attributions is kept in `others`;
        interactions are not kept.
        """
        return _selection.chosen(self, key)

    @property
    def loc(self) -> _selection.Labels:
        """Select rows by label, as in a frame: ``explanation.loc["a", "age"]``."""
        return _selection.Labels(self)

    def __abs__(self) -> "Explanation":
        """Return the sizes of the attributions.

        They have the standard errors of the attributions, as they vary no more. They add up to no
        prediction: base values and predictions are NaN, and interactions are not kept.
        """
        unknown = np.full(self.base_values.shape, np.nan)
        parts: dict = {"values": np.abs(self.values), "others": None, "interactions": None}
        return replace(self, base_values=unknown, predictions=unknown, **parts)

    @property
    def abs(self) -> "Explanation":
        """The sizes of the attributions, as ``abs(explanation)``."""
        return self.__abs__()

    def mean(self, axis=0) -> "Explanation":
        """Return the mean over the rows, as an explanation of one row called "mean".

        The mean attributions add up to the mean prediction. Their standard errors are for exactly
        these instances, whose errors are independent; the error of the background is shared by
        all, and stays (an upper bound). Evaluations and model rows are those of all together.

        For importances use `importance`, which has the errors of instances that are a sample.

        Parameters
        ----------
        axis : int, default=0
            There is no other.

        Raises
        ------
        ValueError
            For another axis, or without instances.
        """
        if axis != 0 or isinstance(axis, bool):
            raise ValueError(
                f"Explanation.mean takes axis=0, the mean over rows; got {axis!r}: attributions"
                f" of different features are summed, as by explanation.values.sum(axis=1)."
            )
        if not len(self):
            raise ValueError("Explanation.mean needs at least one row; got none.")
        parts = changed(self, BY_OUTPUT, lambda part: part.mean(axis=0, keepdims=True))
        if self.standard_errors is not None:
            squares = (self.standard_errors**2).sum(axis=0, keepdims=True)
            parts["standard_errors"] = np.sqrt(squares) / len(self)
        nothing = np.full((1, len(self.feature_names)), None, dtype=object)
        data = pd.DataFrame(nothing, index=["mean"])
        return replace(
            self,
            data=data.set_axis(self.data.columns, axis=1),
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
            If there is no such output.
        """
        return _selection.output(self, name)

    def to_frame(self, kind: str = "wide") -> pd.DataFrame:
        """Return the attributions as a DataFrame.

        Parameters
        ----------
        kind : {"wide", "long"}, default="wide"
            "wide": a row per instance, a column per player (per output and player where there are
            several outputs). "long": a row per instance, output and player, with columns
            ``row, [output,] feature, data, value, standard_error, background_error``.
        """
        if kind not in ("wide", "long"):
            raise ValueError(f'Explanation.to_frame takes kind as "wide" or "long"; got {kind!r}.')
        outputs = self.output_names
        if kind == "wide":
            columns = self.feature_names if outputs is None else player_index(self)
            frame = pd.DataFrame(flat(self.values), index=self.index, columns=columns)
        else:
            cells, k = self.data.to_numpy(dtype=object), 1 if outputs is None else len(outputs)
            numbers = {
                "data": np.tile(cells, (1, k)),
                "value": flat(self.values),
                "standard_error": flat_errors(self),
                "background_error": flat_errors(self, "background_errors"),
            }
            frame = long_frame(self.index, outputs, {"feature": self.feature_names}, numbers)
        if self.settings.learned is not None:
            frame.attrs["method"] = self.settings.method
        return frame

    def importance(
        self, cohorts=None, *, confidence: float | None = None, simultaneous: bool = True
    ) -> pd.DataFrame:
        """Return the mean absolute attribution of each player, largest first, with its errors.

        The instances are taken for a sample of more of their kind. Estimation noise makes small
        attributions look larger than they are, hence their means as well: ``max_bias`` says by how
        much at most. A larger budget makes it smaller, more instances do not. With a `confidence`,
        the bias is removed, up to a rest of at most ``max_bias``.

        Parameters
        ----------
        cohorts : str or array-like of shape (r,), default=None
            A column of `data`, or a label (a mask: True or False) for each instance: the
            importances within each cohort.
        confidence : float, default=None
            Of intervals and ranks, such as .95. None: no intervals, and the bias stays.
        simultaneous : bool, default=True
            Whether intervals and ranks hold for all players (and outputs) at once in that share of
            samples, by the largest studentised mean of the multiplier bootstrap over instances; or
            each by itself.

        Returns
        -------
        importance : DataFrame
            Index: cohort (if requested), output (if there are several) and feature. Columns, NaN if
            unknown:

            - ``importance``: the mean absolute attribution;
            - ``standard_error``: its standard error by both causes, from the spread of the
              instances; it needs two of them;
            - ``sampling_error``: the part due to the choice of instances: the rest of
              ``standard_error`` without ``estimation_error``;
            - ``estimation_error``: the part due to the instances' own standard errors, exact if
              attributions are far from zero, otherwise an upper bound;
            - ``max_bias``: upper bound of the bias, reached where all attributions are zero, if
              their errors are normal;
            - ``background_error``: upper bound of the error due to the background as a sample. It
              is shared by all instances, so more instances do not make it smaller.

            With a confidence ``importance`` has the bias removed (a single one may then be below
            zero), and there are in place of the parts of the error

            - ``low``, ``high``: the interval, for both causes of error, not for the background.
              Infinite where the rows do not show how large attributions can be: of heavy tails
              below some hundred rows, and of attributions that are the same in all rows, but 0;
            - ``rank``, ``best_rank``, ``worst_rank``: the place of the player in its output, and
              the places that the data do not rule out.

        Raises
        ------
        ValueError
            If there is no such column, or not a label for each row; or for an invalid
            confidence.

        Examples
        --------
        >>> import numpy as np
        >>> from skshapley import ShapleyExplainer
        >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2)))
        >>> explanation = explainer.explain(np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 0.0]]))
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
        x0       0.0   4.8
        x1       0.0   inf
        """
        if cohorts is not None:
            masks = cohort_masks(self, cohorts, "Explanation.importance")
            asked: dict = {"confidence": confidence, "simultaneous": simultaneous}
            return pd.concat(
                {label: self[m].importance(**asked) for label, m in masks.items()}, names=["cohort"]
            )
        if confidence is None:
            return importance(self)
        check_confidence("Explanation.importance", confidence, simultaneous)
        return inferred_importance(lambda: [self], self, confidence, simultaneous)

    def to_shap(self) -> Any:
        """Return a `shap.Explanation` with the same numbers, for shap's own plots.

        Its ``data`` are numbers, for the colours of shap's plots: other values are replaced
        by their rank. ``display_data`` are the values themselves. Most of shap's plots draw one
        output: choose it by `output` before.
        """
        return to_shap(self)

    @classmethod
    def from_shap(cls, explanation) -> "Explanation":
        """Return the numbers of a `shap.Explanation`, for our displays and tables.

        Its ``error_std`` is the spread of single permutations and not a standard error, so
        `standard_errors` are None. Its cost is unknown (NaN). The predictions are the base values
        plus the sums of the attributions.

        Parameters
        ----------
        explanation : shap.Explanation
            Of one row or many, one output or several.

        Raises
        ------
        ValueError
            If features differ from row to row, as tokens do, or base values are missing.
        """
        return cls(**parts_of_shap(explanation))

    def to_shapiq(self) -> list:
        """Return a first-order `shapiq.InteractionValues` for each row, for shapiq's plots.

        Raises
        ------
        ValueError
            If there are several outputs.
        """
        spent = [None if np.isnan(n) else round(n) for n in self.n_evaluations]
        return to_shapiq(self, "SV", self.values, spent)

    @classmethod
    def from_shapiq(cls, values, data=None, feature_names=None) -> "Explanation":
        """Return the numbers of shapiq's values of order 1, or 2 with the interactions.

        Parameters
        ----------
        values : shapiq.InteractionValues, or list of them
            One for each instance.
        data : array or frame of shape (r, p), default=None
            The instances, which shapiq's values do not keep.
        feature_names : sequence of str, default=None
            By default the columns of `data`, or x0, x1, ...

        Raises
        ------
        ValueError
            If there are higher interactions among the values, pairs without values of players or
            those of Banzhaf, or data or names are not theirs.
        """
        return cls(**parts_of_shapiq(values, data, feature_names))

    @staticmethod
    def merge(explanations: Sequence["Explanation"]) -> "Explanation":
        """Return the rows of several explanations of one model as one explanation.

        Parameters
        ----------
        explanations : sequence of Explanation
            In the order that their instances shall have.

        Raises
        ------
        ValueError
            If there are no explanations, or their players or outputs differ.
        """
        explanations = list(explanations)
        if not explanations:
            raise ValueError("Explanation.merge needs at least one explanation; got none.")
        ours = explanations[0]._subject
        for other in explanations[1:]:
            for name, theirs in other._subject.items():
                if ours[name] != theirs:
                    raise ValueError(
                        f"Explanation.merge needs the same {name}: got {ours[name]} and {theirs}."
                    )
        pairs = [each.interactions for each in explanations if each.interactions is not None]
        parts: dict[str, Any] = {name: joined(explanations, name) for name in BY_ROW}
        return replace(
            explanations[0],
            data=pd.concat([each.data for each in explanations]),
            interactions=Interactions.merge(pairs) if pairs else None,
            **parts,
        )

    @property
    def _subject(self) -> dict[str, Any]:
        """The properties that merged explanations must share."""
        names, pairs = self.output_names, self.interactions
        return {
            "feature_names": self.feature_names.tolist(),
            "output_names": None if names is None else names.tolist(),
            "output": self.settings.output,
            "index of interactions": None if pairs is None else pairs.index,
        }

    @corrected
    def save(self, path: str | os.PathLike) -> None:
        """Write the explanation into a Parquet file, which `load` and other programs read.

        The file has a line for each row and output, in the columns of the files of
        `skshapley.batches`: ``row``, ``key:<name>`` (the index), ``output`` where there are
        several, ``prediction``, ``base_value``, then ``value:<feature>``, ``error:<feature>``,
        ``background:<feature>`` and ``data:<feature>`` for each feature, and the costs. A column of
        mixed objects becomes JSON.

        Parameters
        ----------
        path : str or path
            An existing file is replaced.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        TypeError
            If a column of `data` holds objects other than numbers, texts, dates and the like.
        ValueError
            If two features have the same name, or the path ends in another format's suffix.

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
                f" {path.stem + '.parquet'!r}, or write a text by to_frame().to_csv(path)."
            )
        try:
            table, header = arrow_table(self)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Explanation.save: {error}") from error
        write_whole(path, lambda file: write_table(file, table, header))

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Explanation":
        """Read a file that `save` wrote.

        Names, types and sizes are checked before the data are read, and no code in the file is run.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        ValueError
            If the file is damaged, is another, or was written by a later version.
        """
        return cls(**ExplanationFile.open(Path(path)).parts())

    def __repr__(self) -> str:
        return _texts.as_text(self)

    def _repr_html_(self) -> str:
        return _texts.as_html(self)

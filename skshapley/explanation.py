"""The frozen record of an explanation: attributions, how sure they are, and what they cost."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from skshapley._records._gap import efficiency_gap, gap_shows
from skshapley._records._importance import cohort_masks, importance
from skshapley._records._inferred import check_confidence, inferred_importance
from skshapley._records._interactions import Interactions
from skshapley._records._interchange import parts_of_shap, parts_of_shapiq, to_shap, to_shapiq
from skshapley._records._settings import Settings


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Attributions of r instances over p players, with their standard errors and costs.

    A model with one output gives 2-D attributions ``(r, p)``; several outputs give ``(r, p, k)``.
    For each instance and output, ``base_values + values.sum(axis=1) + efficiency_gap ==
    predictions``. The gap is 0, up to rounding, for Shapley values by any method; values of another
    kind (Banzhaf and beta values, those of players on a graph) need not add up.

    Attributes
    ----------
    values : ndarray of shape (r, p) or (r, p, k)
        Attributions in the units of the model's response.
    standard_errors : ndarray of the same shape, or None
        Of the attributions against the background as it was given, whichever part of it was looked
        at. None where the method has none; NaN where an instance has too few units for one.
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
        Rows given to the model per instance, without v(empty), which is shared by all. Like the
        evaluations, NaN where they are not on record.
    converged : ndarray of shape (r,), bool
        Exact, or accurate enough for the stopping rule.
    settings : Settings
        How it was computed, by attribute: ``explanation.settings.sampler``.
    entries : ndarray of shape (p, 1), int
        The positions of the players that each attribution belongs to: one player each.
    background_errors : ndarray of the shape of `values`, or None
        What the background leaves to chance as a sample of where it came from: standard errors of
        the attributions against it, for those against everything that it might have been drawn
        from. To be added to `standard_errors` in squares. NaN or None where not known.
    interactions : Interactions or None
        Of all pairs of players, where they were asked for.
    plot : PlotAccessor
        The displays, as methods: ``explanation.plot.bar()``.
    report : method
        Everything as one file for a browser: ``explanation.report("report.html")``.

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
    settings: Settings = field(default_factory=Settings)
    entries: np.ndarray | None = None
    background_errors: np.ndarray | None = None
    interactions: Interactions | None = None

    # Pictures are a layer above this one: `skshapley/__init__.py` puts them here.
    plot: ClassVar[property]
    report: ClassVar[Callable[..., Path]]

    def __post_init__(self) -> None:
        if self.entries is None:
            object.__setattr__(self, "entries", np.arange(len(self.feature_names))[:, None])
        for name in (*_BY_ROW, "feature_names", "output_names", "entries"):
            value = getattr(self, name)
            if value is not None:
                view = np.asarray(value).view()  # the caller's own array stays writeable
                view.flags.writeable = False
                object.__setattr__(self, name, view)
        if self.interactions is not None and self.interactions.rows is not self.index:
            object.__setattr__(self, "interactions", replace(self.interactions, rows=self.index))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # pickled arrays come back writeable

    @property
    def efficiency_gap(self) -> np.ndarray:
        """What the attributions lack of prediction minus base value, ``(r,)`` or ``(r, k)``."""
        return efficiency_gap(self.values, self.base_values, self.predictions)

    @property
    def index(self) -> pd.Index:
        """The index of the instances, as they were given."""
        return self.data.index

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows) -> "Explanation":
        """Return some instances: an int (one instance, still 2-D), slice, positions or a mask."""
        if isinstance(rows, (int, np.integer)):
            if not -len(self) <= rows < len(self):
                raise IndexError(f"Explanation has {len(self)} instances; got row {rows}.")
            rows = [rows]
        elif not isinstance(rows, slice):
            given, rows = rows, np.atleast_1d(np.asarray(rows))
            if isinstance(given, tuple) or (rows.dtype.kind not in "biu" and rows.size):
                raise TypeError(
                    f"Explanation takes rows as an int, slice, positions or a boolean mask; got"
                    f" {given!r}. Outputs are chosen with .output(name)."
                )
            rows = rows.astype(bool if rows.dtype == bool else np.intp)
        parts = {name: getattr(self, name) for name in _BY_ROW}
        chosen: dict = {name: None if part is None else part[rows] for name, part in parts.items()}
        pairs = None if self.interactions is None else self.interactions[rows]
        return replace(self, data=self.data.iloc[rows], interactions=pairs, **chosen)

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
        if self.output_names is None:
            raise ValueError(f"Explanation has a single output; .output({name!r}) chooses nothing.")
        found = np.flatnonzero([label == name for label in self.output_names])
        if not len(found):
            raise ValueError(
                f"Explanation has no output {name!r}: choose one of {self.output_names.tolist()}."
            )
        parts = {part: getattr(self, part) for part in _BY_OUTPUT}
        chosen: dict = {
            key: None if part is None else part[..., found[0]] for key, part in parts.items()
        }
        settings = replace(self.settings, output=name)
        pairs = None if self.interactions is None else self.interactions.output(name)
        return replace(self, output_names=None, settings=settings, interactions=pairs, **chosen)

    def to_frame(self, kind: str = "wide") -> pd.DataFrame:
        """Return the attributions as a DataFrame.

        Parameters
        ----------
        kind : {"wide", "long"}, default="wide"
            "wide": a row per instance, a column per player (per output and player where there are
            several outputs). "long": a row per instance, output and player, with columns
            ``row, [output,] feature, data, value, standard_error, background_error``.
        """
        if kind == "wide":
            return self._wide(self.values)
        if kind != "long":
            raise ValueError(f'Explanation.to_frame takes kind as "wide" or "long"; got {kind!r}.')
        r, p = self.values.shape[:2]
        outputs = [None] if self.output_names is None else list(self.output_names)
        k = len(outputs)
        unknown = np.full(self.values.shape, np.nan)
        errors = unknown if self.standard_errors is None else self.standard_errors
        apart = unknown if self.background_errors is None else self.background_errors
        columns = {
            "row": np.repeat(self.index.to_numpy(), p * k),
            "output": np.tile(np.repeat(np.array(outputs, dtype=object), p), r),
            "feature": np.tile(self.feature_names, r * k),
            "data": np.tile(self.data.to_numpy(dtype=object)[:, None], (1, k, 1)).ravel(),
            "value": _by_output(self.values),
            "standard_error": _by_output(errors),
            "background_error": _by_output(apart),
        }
        if self.output_names is None:
            del columns["output"]
        return pd.DataFrame(columns)

    def _wide(self, values: np.ndarray) -> pd.DataFrame:
        if self.output_names is None:
            return pd.DataFrame(values, index=self.index, columns=self.feature_names)
        columns = pd.MultiIndex.from_product(
            [self.output_names, self.feature_names], names=["output", "feature"]
        )
        flat = np.swapaxes(values, 1, 2).reshape(len(values), -1)
        return pd.DataFrame(flat, index=self.index, columns=columns)

    def importance(
        self, cohorts=None, *, confidence: float | None = None, simultaneous: bool = True
    ) -> pd.DataFrame:
        """Return the mean absolute attribution of each player, largest first, with its errors.

        The instances are taken for a sample of more of their kind. Estimation noise makes small
        attributions look larger than they are, hence their means as well: ``max_bias`` says by how
        much at most. A larger budget makes it smaller, more instances do not. With a `confidence`,
        the bias is removed, but for a rest of which ``max_bias`` is the most.

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
            Index: cohort (where asked for), output (where there are several) and feature. Columns,
            NaN where unknown:

            - ``importance``: the mean absolute attribution;
            - ``standard_error``: its standard error by both causes, from the spread of the
              instances, of which it needs two;
            - ``sampling_error``: the part of it that other instances would bring; what
              ``standard_error`` leaves of ``estimation_error``;
            - ``estimation_error``: the part of it that the instances' own standard errors bring,
              exact where attributions are clear of zero, else an upper bound;
            - ``max_bias``: upper bound of the bias, reached where all attributions are zero, if
              their errors are normal;
            - ``background_error``: upper bound of what the background leaves to chance as a sample,
              which is the same for all instances and so is not made smaller by more of them.

            With a confidence ``importance`` has the bias removed (a single one may then be below
            zero), and there are in place of the parts of the error

            - ``low``, ``high``: the interval, for both causes of error, not for the background;
            - ``rank``, ``best_rank``, ``worst_rank``: the place of the player in its output, and
              the places that the data do not rule out.

        Raises
        ------
        ValueError
            If there is no such column, or not a label for each instance; or for a confidence that
            is none.

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
        x0      -1.3   5.3
        x1      -3.3   4.6
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

        Its ``error_std``, where there is one, is the spread of single walks and no standard error:
        `standard_errors` are None. What it cost is not on record either: NaN. The predictions are
        the base values plus the sums of the attributions.

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
        """Return a first-order `shapiq.InteractionValues` for each instance, for shapiq's plots.

        Raises
        ------
        ValueError
            If there are several outputs.
        """
        return to_shapiq(self)

    @classmethod
    def from_shapiq(cls, values, data=None, feature_names=None) -> "Explanation":
        """Return the numbers of shapiq's values of order 1.

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
            If there are interactions among the values, or data or names are not theirs.
        """
        return cls(**parts_of_shapiq(values, data, feature_names))

    @staticmethod
    def merge(explanations: Sequence["Explanation"]) -> "Explanation":
        """Return the instances of several explanations of one model as one explanation.

        Parameters
        ----------
        explanations : sequence of Explanation
            In the order that their instances shall have.

        Raises
        ------
        ValueError
            If they are none, or their players or outputs differ.
        """
        explanations = list(explanations)
        if not explanations:
            raise ValueError("Explanation.merge needs at least one explanation; got none.")
        first = explanations[0]
        ours = first._subject()
        for other in explanations[1:]:
            for name, theirs in other._subject().items():
                if ours[name] != theirs:
                    raise ValueError(
                        f"Explanation.merge needs the same {name}: got {ours[name]} and {theirs}."
                    )
        parts = {n: [getattr(e, n) for e in explanations] for n in _BY_ROW}
        merged: dict = {}
        for name, part in parts.items():
            pairs = zip(explanations, part, strict=True)
            known = [np.full(e.values.shape, np.nan) if x is None else x for e, x in pairs]
            merged[name] = np.concatenate(known)
            if name in _ERRORS and np.isnan(merged[name]).all():
                merged[name] = None
        records = [e.interactions for e in explanations if e.interactions is not None]
        both = Interactions.merge(records) if records else None
        data = pd.concat([e.data for e in explanations])
        return replace(first, data=data, interactions=both, **merged)

    def _subject(self) -> dict[str, Any]:
        """Return what explanations that are merged must agree on."""
        names = self.output_names
        return {
            "feature_names": self.feature_names.tolist(),
            "output_names": None if names is None else names.tolist(),
            "output": self.settings.output,
            "index of interactions": None if self.interactions is None else self.interactions.index,
        }

    def _title(self) -> str:
        outputs = "" if self.output_names is None else f", {len(self.output_names)} outputs"
        return f"Explanation: {len(self)} instances, {len(self.feature_names)} features{outputs}"

    def __repr__(self) -> str:
        gap = ""
        if gap_shows(self.values, self.base_values, self.predictions):
            gap = f"; efficiency gap up to {np.abs(self.efficiency_gap).max():.4g}"
        warning = self._background_note()
        hint = self.settings.exact_response
        better = "" if hint is None else f"; response_method={hint!r} would be exact"
        told = f"{self.settings.method}{better}{gap}{warning and f'; {warning}'}"
        return f"<{self._title()}; {told}>"

    def _background_note(self) -> str:
        """Return what to say where the background leaves more to chance than the method does."""
        if self.background_errors is None or not len(self):
            return ""
        method = np.zeros(1) if self.standard_errors is None else self.standard_errors
        own, apart = (
            float(np.nanmean(e)) if np.isfinite(e).any() else 0.0
            for e in (method, self.background_errors)
        )
        if apart <= own:
            return ""
        return f"errors {own:.2g}, and {apart:.2g} of the background as a sample"

    def _repr_html_(self) -> str:
        """Return what was done and a table of the most important players, names escaped."""
        frame = self.importance()[["importance", "standard_error"]].head(MOST_SHOWN).reset_index()
        titles = "".join(f"<th>{escape(title)}</th>" for title in (*frame.columns, ""))
        longest = frame["importance"].max() or 1.0
        lines = "".join(_line(line, line.importance / longest) for line in frame.itertuples())
        facts = {
            "method": self.settings.method,
            "evaluations per instance": f"{self.n_evaluations.mean():.4g}" if len(self) else "0",
            "converged": f"{self.converged.sum()} of {len(self)}",
        }
        if warning := self._background_note():
            facts["errors"] = warning
        if self.settings.exact_response is not None:
            facts["exact response"] = f"response_method={self.settings.exact_response!r}"
        if gap_shows(self.values, self.base_values, self.predictions):
            facts["largest efficiency gap"] = f"{np.abs(self.efficiency_gap).max():.4g}"
        told = ", ".join(f"{key}: {escape(str(value))}" for key, value in facts.items())
        head, table = f"<b>{escape(self._title())}</b><br>{told}", "<table><thead><tr>"
        return f"<div>{head}{table}{titles}</tr></thead><tbody>{lines}</tbody></table></div>"


MOST_SHOWN = 10
BAR = '<div style="width:{:.1f}em;height:.8em;background:#3b78b4"></div>'

_ERRORS = ("standard_errors", "background_errors")
_BY_OUTPUT = ("values", *_ERRORS, "base_values", "predictions")
_BY_ROW = (*_BY_OUTPUT, "n_evaluations", "n_model_rows", "converged")


def _by_output(array: np.ndarray) -> np.ndarray:
    """Return the numbers ordered by instance, output, player."""
    return (array if array.ndim == 2 else np.swapaxes(array, 1, 2)).ravel()


def _line(line: tuple[Any, ...], length: float) -> str:
    """Return a line of the HTML table, with a bar of a length in [0, 1]."""
    cells = "".join(f"<td>{_cell(value)}</td>" for value in line[1:])
    return f"<tr>{cells}<td>{BAR.format(10 * np.nan_to_num(length))}</td></tr>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))

"""Numbers for displays, taken from an Explanation."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._records._summary import gap_shows, kind_of_outputs
from skshapley._tables import LEFT_OUT, MAX_NAME, UNEXPLAINED, ordered_numbers, shorten
from skshapley._tools import Constraint, Count, Maybe, check_values, needed, suggested
from skshapley.explanation import Explanation

# Half the width of a 95 % interval, in standard errors
HALF_WIDTH = 1.96
# Smallest rank correlation with an arrow; weaker ones have many exceptions
LEAST_DIRECTION = 0.3
# Largest number of outputs below each other
MOST_OUTPUTS = 6
# Quantiles of a feature at the ends of its colours, so that outliers do not hide
# differences
LEVEL_ENDS = 0.05, 0.95

_RESPONSES = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log-probability",
    "decision_function": "decision value",
    "score_samples": "score",
    "log_odds": "log-odds",
    "log": "logarithm of the prediction",
}


def direction_mark(direction, error) -> str:
    """Return an arrow if attributions clearly rise or fall with their feature, else ""."""
    if not abs(direction) - HALF_WIDTH * error > LEAST_DIRECTION:
        return ""
    return " ↑" if direction > 0 else " ↓"


def one_output(explanation, output) -> Explanation:
    """Return the explanation of one output, ``(r, p)``; None selects a single output."""
    return explanation if output is None else explanation.output(output)


def one_row(explanation, row) -> Explanation:
    """Return the explanation of one row, ``(1, p)``; None selects a single row."""
    return explanation if row is None else explanation[int(row)]


def strengths(explanation) -> NDArray[np.float64]:
    """Return the mean size of each output's attributions, ``(k,)``."""
    return np.abs(explanation.values).sum(axis=1).mean(axis=0)


def fold(explanation, max_features, size=None) -> Explanation:
    """Return the most important players first, and the sum of the others last.

    Parameters
    ----------
    explanation : Explanation
        Explanation of one output.
    max_features : int or None
        Number of players to keep, the largest first. None: all. A single remaining
        player is kept too.
    size : ndarray of shape (p,), default=None
        The sizes for sorting; by default mean absolute attributions.

    Returns
    -------
    folded : Explanation
        The sum of the others has no standard error, because their covariances are
        unknown.
    """
    size = np.abs(explanation.values).mean(axis=0) if size is None else size
    order = np.argsort(-size, kind="stable")
    n_others = 0 if max_features is None else len(order) - max_features
    # A row named "1 other feature" takes the same room as the feature itself.
    if n_others <= 1:
        return explanation[:, order]
    # Summed with signs, as one group: sums of sizes would not add up to the prediction.
    remainder = explanation.values[:, order[max_features:]].sum(axis=1)
    return with_players(
        replace(explanation[:, order[:max_features]], others=explanation.others),
        [f"{n_others} other features"],
        remainder[:, None],
    )


def adding_up(explanation) -> Explanation:
    """Return an explanation with the unselected features as one last player.

    Raises
    ------
    ValueError
        If there is no total, as for absolute values.
    """
    if np.isnan(explanation.predictions).any():
        raise ValueError(
            "Sizes of attributions, as by abs, do not add up to a prediction: draw "
            "them as bars or as a beeswarm."
        )
    if explanation.others is None:
        return explanation
    return replace(
        with_players(explanation, [LEFT_OUT], explanation.others[:, None]),
        others=None,
    )


def closed(explanation) -> Explanation:
    """Return an explanation with attributions that sum from base values to predictions.

    Some estimates need not add up, such as those of marginal samplers. A difference
    above rounding errors becomes a last player. The same holds for the sum of
    unselected features. Both have no standard error, because covariances are unknown.
    """
    explanation = adding_up(explanation)
    if not gap_shows(explanation):
        return explanation
    return with_players(explanation, [UNEXPLAINED], explanation.efficiency_gap[:, None])


def with_players(explanation, names, values, errors=np.nan) -> Explanation:
    """Return an explanation with more players at the end, which have no data.

    Parameters
    ----------
    explanation : Explanation
    names : list of str
    values : ndarray of shape (r, m) or (r, m, k)
    errors : array that broadcasts with `values`, default=NaN
        Their standard errors.
    """
    added = {
        "values": values,
        "standard_errors": np.broadcast_to(errors, values.shape),
        "background_errors": np.full(values.shape, np.nan),
    }
    if explanation.refit_values is not None:
        added["refit_values"] = np.full(
            (*values.shape[:2], *explanation.refit_values.shape[2:]),
            np.nan,
        )
    parts = {
        name: np.concatenate([part, additions], axis=1)
        for name, additions in added.items()
        if (part := getattr(explanation, name)) is not None
    }
    data = pd.DataFrame(dict.fromkeys(names), index=explanation.index, dtype=object)
    return replace(
        explanation,
        **parts,
        data=pd.concat([explanation.data, data], axis=1),
        feature_names=np.append(
            explanation.feature_names,
            np.array(names, dtype=object),
        ),
        interactions=None,
    )


def points(shown) -> pd.DataFrame:
    """Return row, feature, data, value and errors of each row and player of one output."""
    cells = shown.data.to_numpy(dtype=object).ravel()
    # as objects: tokens are not converted to plain text
    return shown.to_frame("long").assign(data=pd.Series(cells, dtype=object))


def row_table(shown) -> pd.DataFrame:
    """Return feature, data, value and standard error of each player of the only row."""
    return points(shown).drop(columns=["row", "background_error"])


def wider_half(frame, *columns) -> NDArray[np.float64]:
    """Return half the width of 95 % intervals with other causes of error, or 0 without them.

    Parameters
    ----------
    frame : DataFrame
        With a column ``standard_error``.
    *columns : str
        Columns of independent errors, whose squares are added; missing ones are left
        out.
    """
    errors = [frame[name].fillna(0.0) for name in columns if name in frame]
    # The squares of errors near 1e200 would be infinite.
    added_error = np.hypot.reduce([error.to_numpy() for error in errors])
    total = np.hypot(frame["standard_error"].fillna(0.0).to_numpy(), added_error)
    return HALF_WIDTH * np.where(added_error > 0, total, 0.0)


def response_name(explanation) -> str:
    """Return the name of the explained response, for example "probability of setosa"."""
    settings = explanation.settings
    if settings.loss is not None:
        return f"{settings.loss.replace('_', ' ')} saved"
    name = _RESPONSES.get(settings.response_method, "response")
    output = settings.explained_class if settings.output is None else settings.output
    if output == "predicted":
        output = "the predicted class"
    return (
        name
        if output is None
        else f"{name}{of_output(output, kind_of_outputs(explanation))}"
    )


def of_output(name, kind="") -> str:
    """Return the end of a response's name: " of setosa", or " of class 1" for a number."""
    return f" of {'' if isinstance(name, str) else kind}{shorten(name, 2 * MAX_NAME)}"


def numbers_of_outputs(explanation) -> list[float] | None:
    """Return the names of outputs that are ascending floats, such as times; else None."""
    names = (
        [] if explanation.output_names is None else explanation.output_names.tolist()
    )
    floats = len(names) > 1 and all(isinstance(name, float) for name in names)
    ascending = (
        floats and not kind_of_outputs(explanation) and (np.diff(names) > 0).all()
    )
    return names if ascending else None


def levels(column) -> NDArray[np.float64]:
    """Return where each value lies between the low and the high values of its column, in [0, 1].

    NaN for missing values, and for all values of a column that has no order.
    """
    numbers = ordered_numbers(column)
    low, high = ends_of(numbers)
    # A constant column has no low or high end; the middle colour suggests neither.
    if low == high:
        return np.where(np.isfinite(numbers), 0.5, np.nan)
    return np.clip((numbers - low) / (high - low), 0, 1)


def ends_of(numbers) -> tuple[float, float]:
    """Return the 5th and the 95th percentile of the finite numbers; the extremes if those agree."""
    finite = numbers[np.isfinite(numbers)]
    if not len(finite):
        return 0.0, 0.0
    low, high = np.quantile(finite, LEVEL_ENDS)
    return (low, high) if low < high else (finite.min(), finite.max())


def are_axes(axes: Any) -> bool:
    """Return True for matplotlib Axes, a sequence of Axes, or None."""
    from matplotlib.axes import Axes

    candidates: Any = [] if axes is None else np.ravel(np.asarray(axes, dtype=object))
    return all(isinstance(ax, Axes) for ax in candidates)


AXES = Constraint(
    are_axes,
    "matplotlib Axes, a sequence of them, or None for a new figure",
    error=TypeError,
)


CONSTRAINTS = {
    "row": Maybe(
        Constraint(
            lambda row: isinstance(row, Integral) and not isinstance(row, bool),
            "the position of a row, an int",
        ),
        hint="such as row=0, or for a label row=explanation.index.get_loc(label)",
        error=TypeError,
    ),
    "max_features": Maybe(Count(), hint="None shows all"),
    "ax": AXES,
    "axes": AXES,
}


def check_drawing(display, explanation, *, output, one_row=False, **given) -> None:
    """Raise an error for invalid parameters of a display.

    Parameters
    ----------
    display : type
        The display; its ``_constraints`` define valid values of `given`.
    explanation : Explanation
    output : label or None
    one_row : bool, default=False
        Whether the display shows one row, so that a row must be given where there are
        several.
    **given
        The other parameters.

    Raises
    ------
    ValueError, TypeError, IndexError
        For the first invalid parameter.
    """
    owner = display.__name__
    needed("matplotlib", owner, "plot")
    check_values(owner, given, display._constraints)
    outputs = (
        [] if explanation.output_names is None else explanation.output_names.tolist()
    )
    if output is not None and output not in outputs:
        choices = f": choose None or one of {outputs}"
        if not outputs:
            choices = " for an explanation of a single output: choose None"
        raise ValueError(f"{owner} got output={output!r}{choices}.")
    row = given.get("row")
    # comparisons have no rows
    n = len(explanation) if "row" in given else 1
    choices = f"choose a position from 0 to {n - 1}"
    if one_row and row is None and n != 1:
        raise ValueError(
            f"{owner} got row=None, but it shows one row and the explanation has {n}: "
            f"{choices}, such as row=0.",
        )
    if row is not None and not -n <= row < n:
        raise IndexError(
            f"{owner} got row={row} for an explanation of {n} rows: {choices}.",
        )


def check_features(owner, parameter, names, known) -> None:
    """Raise ValueError for unknown names of features."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"{owner} got {parameter}={unknown}{suggested(unknown[0], known)}: choose "
            f"among {list(known)}.",
        )


def explainer_of(owner: str, estimator: Any, background: Any, **asked: Any) -> Any:
    """Return a fitted explainer of an estimator; explainers are returned unchanged.

    Parameters
    ----------
    owner : str
        Name of the caller, for errors.
    estimator : fitted estimator, function, or fitted explainer
    background : array or frame of shape (b, d), or None
    **asked
        Parameters of a new explainer.
    """
    name = type(estimator).__name__
    if hasattr(estimator, "explain"):
        if background is not None:
            raise ValueError(
                f"{owner} got a background for a {name}, which has its own: leave "
                "background out."
            )
        return estimator
    if background is None:
        raise ValueError(
            f"{owner} got background=None for a {name}: pass background rows, such"
            f" as background=X_train, or a fitted ShapleyExplainer."
        )
    return ShapleyExplainer(estimator, **asked).fit(background)

"""Checks of the arguments of displays, and explainers of models to draw."""

from numbers import Integral
from typing import Any

import numpy as np

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._tools._constraints import Constraint, Count, Maybe, check_values
from skshapley._tools._params import needed
from skshapley._tools._texts import suggested


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
COUNT = Maybe(Count(), hint="None shows all")
ROW = Maybe(
    Constraint(
        lambda row: isinstance(row, Integral) and not isinstance(row, bool),
        "the position of a row, an int",
    ),
    hint="such as row=0, or for a label row=explanation.index.get_loc(label)",
    error=TypeError,
)


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
    check_output(owner, explanation, output)
    if one_row or given.get("row") is not None:
        check_row(owner, explanation, given.get("row"))


def check_output(owner, explanation, output) -> None:
    """Raise ValueError for an unknown output."""
    names = (
        [] if explanation.output_names is None else explanation.output_names.tolist()
    )
    if output is not None and output not in names:
        choices = f": choose None or one of {names}"
        if not names:
            choices = " for an explanation of a single output: choose None"
        raise ValueError(f"{owner} got output={output!r}{choices}.")


def check_row(owner, explanation, row) -> None:
    """Raise IndexError for a position without a row; None is valid for a single row."""
    n = len(explanation)
    choices = f"choose a position from 0 to {n - 1}"
    if row is None and n != 1:
        raise ValueError(
            f"{owner} got row=None, but it shows one row and the explanation has {n}: "
            f"{choices}, such as row=0."
        )
    if row is not None and not -n <= row < n:
        raise IndexError(
            f"{owner} got row={row} for an explanation of {n} rows: {choices}."
        )


def check_names(owner, parameter, names, known) -> None:
    """Raise ValueError for unknown names of features."""
    unknown = [name for name in names if name not in known]
    if unknown:
        meant = suggested(unknown[0], known)
        raise ValueError(
            f"{owner} got {parameter}={unknown}{meant}: choose among {list(known)}."
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

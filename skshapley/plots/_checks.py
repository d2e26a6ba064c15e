"""Checks of what the displays are asked to draw, made before anything is computed or drawn."""

from numbers import Integral
from types import ModuleType

import numpy as np

# Outputs that are shown side by side
MOST_OUTPUTS = 12


def pyplot(owner) -> ModuleType:
    """Return matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{owner} draws with matplotlib, which is not installed: pip install 'skshapley[plot]'."
        ) from error
    return plt


def check_drawing(
    owner, explanation, *, ax, output, row=None, max_features=None, one_row=False
) -> None:
    """Refuse parameters that a display of an explanation cannot draw.

    Parameters
    ----------
    owner : str
        Name of the display, for errors.
    explanation : Explanation
    ax : matplotlib Axes, a sequence of them, or None
    output : label or None
    row : int or None, default=None
    max_features : int or None, default=None
    one_row : bool, default=False
        Whether the display shows one instance, so that a row must be given where there are several.

    Raises
    ------
    ValueError, TypeError, IndexError
        For the first parameter that is invalid.
    """
    check_axes(owner, ax)
    check_output(owner, explanation, output)
    if one_row or row is not None:
        check_row(owner, explanation, row)
    check_count(owner, "max_features", max_features)


def check_axes(owner, axes) -> None:
    """Refuse what is neither matplotlib Axes, nor a sequence of them, nor None."""
    plt = pyplot(owner)
    for ax in [] if axes is None else np.ravel(np.asarray(axes, dtype=object)):
        if not isinstance(ax, plt.Axes):
            raise TypeError(
                f"{owner} got {ax!r} to draw on: choose matplotlib Axes, or None for a new figure."
            )


def check_output(owner, explanation, output) -> None:
    """Refuse an output that the explanation does not have, or too many outputs at once."""
    names = [] if explanation.output_names is None else explanation.output_names.tolist()
    if output is None and len(names) > MOST_OUTPUTS:
        raise ValueError(
            f"{owner} got output=None for {len(names)} outputs, more than the {MOST_OUTPUTS} that"
            f" it shows side by side: choose one of {names}."
        )
    if output is not None and not names:
        raise ValueError(
            f"{owner} got output={output!r} for an explanation of a single output: choose None."
        )
    if output is not None and output not in names:
        raise ValueError(f"{owner} got output={output!r}: choose None or one of {names}.")


def check_row(owner, explanation, row) -> None:
    """Refuse what is not the position of an instance; None stands for the only one."""
    n = len(explanation)
    if row is None:
        if n != 1:
            raise ValueError(
                f"{owner} got row=None, but it shows one instance and the explanation has {n}:"
                f" choose a position from 0 to {n - 1}."
            )
        return
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise TypeError(
            f"{owner} got row={row!r}: choose the position of an instance, an int; for a label of"
            f" the index, pass row=explanation.index.get_loc(label)."
        )
    if not -n <= int(row) < n:
        raise IndexError(
            f"{owner} got row={row} for an explanation of {n} instances: choose a position from 0"
            f" to {n - 1}."
        )


def check_count(owner, parameter, count) -> None:
    """Refuse what is neither a positive int nor None."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if count is not None and not (whole and count >= 1):
        raise ValueError(
            f"{owner} got {parameter}={count!r}: choose a positive int, or None for all."
        )


def check_names(owner, parameter, names, known) -> None:
    """Refuse names of features that do not exist."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"{owner} got {parameter}={unknown}: choose among {list(known)}.")

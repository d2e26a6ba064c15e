"""The contracts of displays and ways: results have the numbers of the explanation."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from skshapley._tables import n_rows, take_rows
from skshapley._tools import needed
from skshapley.testing._checks import Checks, assert_equal, checks_named, run_checks

# Sums of attributions in another order, relative to the largest number
ROUNDING = 1e-9


def check_display(
    draw: Callable[[Any], Any],
    numbers: Mapping[str, Any],
    skip: tuple[str, ...] = (),
) -> None:
    """Check a display: its artists and its frame have the expected numbers.

    The display draws on the given axes and on no others, and can be drawn again.

    Parameters
    ----------
    draw : callable
        Takes matplotlib Axes, a list of them, or None for a new figure, and returns the
        drawn display.
    numbers : dict of str to array-like
        Expected numbers of some columns of the frame, in any order. The numbers of the
        first column must be coordinates, sizes or colours of artists. The column
        ``"*"`` means all columns.
    skip : tuple of str, default=()
        Names of checks that do not apply.

    Raises
    ------
    AssertionError
        If a check fails.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.testing import check_display
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> explanation = explainer.explain(np.ones((1, 2)))
    >>> check_display(lambda ax: explanation.plot.waterfall(ax=ax), {"value": [1, -3]})
    """
    run_checks(DISPLAY_CHECKS, skip, draw, draw(None), numbers)


def check_display_frame(
    draw: Callable[[Any], Any],
    display: Any,
    numbers: Mapping[str, Any],
) -> None:
    """The frame has the expected numbers, and changing it does not change the display."""
    for column, expected in numbers.items():
        frame = display.frame()
        numbers_drawn = frame if column == "*" else frame[column]
        sorted_numbers = np.sort(numbers_drawn.to_numpy(dtype=float), axis=None)
        sorted_expected = np.sort(np.ravel(np.asarray(expected, dtype=float)))
        assert len(sorted_numbers) == len(sorted_expected), (
            f"frame has {len(sorted_numbers)} numbers in {column!r} instead of "
            f"{len(sorted_expected)}"
        )
        assert_equal(
            sorted_numbers,
            sorted_expected,
            f"frame: {column!r}",
            ROUNDING * np.nanmax(np.abs(sorted_expected), initial=0.0),
        )
    display.frame().insert(0, "another column", 0.0)
    assert "another column" not in display.frame(), "frame is not a copy"


def check_display_artists(
    draw: Callable[[Any], Any],
    display: Any,
    numbers: Mapping[str, Any],
) -> None:
    """The artists show the numbers of the first column."""
    drawn = np.concatenate(
        [_drawn_numbers(ax) for ax in np.ravel(np.asarray(display.axes_, dtype=object))]
    )
    assert len(drawn), "nothing is drawn"
    expected = np.ravel(np.asarray(next(iter(numbers.values())), dtype=float))
    tolerance = ROUNDING * np.nanmax(np.abs(expected), initial=0.0)
    for number in expected[np.isfinite(expected)]:
        distance = np.abs(drawn - number).min()
        assert distance <= tolerance, f"no artist shows the number {number:.6g}"


def check_display_axes(
    draw: Callable[[Any], Any],
    display: Any,
    numbers: Mapping[str, Any],
) -> None:
    """The display draws on the given axes, and on no others."""
    plt = needed("matplotlib.pyplot", "check_display", "plot")
    n_axes = np.size(np.asarray(display.axes_, dtype=object))
    figure, axes = plt.subplots(1, n_axes + 1, squeeze=False)
    *targets, spare = axes.ravel()
    drawn = draw(targets[0] if n_axes == 1 else targets)
    assert drawn.figure_ is figure, "another figure than that of the axes"
    assert drawn.ax_ is targets[0], "`ax_` is not the given axes"
    assert not spare.has_data(), "axes that were not given"
    assert all(ax.has_data() or ax.texts for ax in targets), "empty axes"


def check_display_again(
    draw: Callable[[Any], Any],
    display: Any,
    numbers: Mapping[str, Any],
) -> None:
    """A display can be drawn again, and keeps its numbers."""
    frame = display.frame()
    figure = display.figure_
    assert display.plot() is display, "`plot` does not return the display"
    assert display.figure_ is not figure, "no new figure"
    assert frame.equals(display.frame()), "the frame changed"


def _drawn_numbers(ax: Any) -> np.ndarray:
    """Return the coordinates, sizes and colour values of the artists of axes, ``(n,)``."""
    parts: list[Any] = [line.get_xydata() for line in ax.lines]
    parts += [
        [bar.get_width(), bar.get_height()]
        for bar in ax.patches
        if hasattr(bar, "get_width")
    ]
    for collection in ax.collections:
        parts.append(collection.get_offsets())
        parts += [path.vertices for path in collection.get_paths()]
    parts += [image.get_array() for image in ax.images]
    flat: list[np.ndarray] = [
        np.ma.filled(np.ma.asarray(part, dtype=float), np.nan) for part in parts
    ]
    drawn = np.concatenate([np.ravel(part) for part in flat] or [np.empty(0)])
    return drawn[np.isfinite(drawn)]


DISPLAY_CHECKS: Checks = checks_named("check_display_", globals())


FIELDS = ("values", "standard_errors", "base_values", "predictions", "n_model_rows")
WAY_ROUNDING = 1e-12  # relative to the largest value
# Largest difference of two predictions, relative to the largest one
RTOL = 1e-6


def check_way(explainer: Any, X: Any, skip: tuple[str, ...] = ()) -> None:
    """Check the way in which a fitted explainer explains rows.

    A row has the same explanation alone and in company. The same state gives the same
    bits. The predictions are computed in another way than by adding up the values.

    Parameters
    ----------
    explainer : explainer
        Fitted.
    X : array or frame of shape (r, d), or documents
        Three or more rows.
    skip : tuple of str, default=()
        Names of checks that do not apply.

    Raises
    ------
    AssertionError
        If a check fails.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.testing import check_way
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> model = LinearRegression().fit(X, X[:, 0])
    >>> check_way(ShapleyExplainer(model).fit(X), X[:3])
    """
    run_checks(WAY_CHECKS, skip, explainer, explainer._table(X))


def _explained(way: Any, X: Any) -> Any:
    return way.explain(X, None, False)


def _assert_same(explanation: Any, expected: Any, what: str) -> None:
    for name in FIELDS:
        assert_equal(getattr(explanation, name), getattr(expected, name), what)


def check_way_alone(explainer: Any, X: Any) -> None:
    """A row alone has the same explanation as in company."""
    way = explainer._way
    together = _explained(way, X)
    for row in range(n_rows(X)):
        alone = _explained(way, take_rows(X, [row]))
        names = together.feature_names
        position = [list(names).index(name) for name in alone.feature_names]
        # Learned values are sums over training rows, whose order may vary.
        assert_equal(
            alone.values[0],
            together.values[row][position],
            f"row {row} alone",
            WAY_ROUNDING * np.abs(together.values).max(),
        )


def check_way_state(explainer: Any, X: Any) -> None:
    """The same state gives the same bits, and other entropy can be taken back."""
    way = explainer._way
    first = _explained(way, X)
    _assert_same(_explained(way, X), first, "the same state")
    back = way.with_entropy(way.entropy + 1).with_entropy(way.entropy)
    assert back.entropy == way.entropy, "with_entropy changes the entropy"
    _assert_same(_explained(back, X), first, "the same entropy")
    assert way.state().keys() == back.state().keys(), "the state has other names"


def check_way_predictions(explainer: Any, X: Any) -> None:
    """The predictions of the way and of its explanations agree."""
    way = explainer._way
    predictions = np.asarray(way.predictions(X), dtype=float)
    expected = _explained(way, X).predictions.reshape(predictions.shape)
    assert_equal(predictions, expected, "predictions", RTOL * np.abs(expected).max())


WAY_CHECKS: Checks = checks_named("check_way_", globals())

"""The contract of every display, and displays that break it."""

import inspect
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer, plots
from skshapley.comparison import compare, compare_refits, drift
from skshapley.diagnostics import masking_curve
from skshapley.plots import (
    BarDisplay,
    BeeswarmDisplay,
    ControlChartDisplay,
    ConvergenceDisplay,
    DecisionDisplay,
    DependenceDisplay,
    DumbbellDisplay,
    HeatMapDisplay,
    ImportanceDisplay,
    InteractionsDisplay,
    MaskingCurveDisplay,
    MatrixDisplay,
    OverOutputsDisplay,
    RefitComparisonDisplay,
    SentenceDisplay,
    WaterfallDisplay,
)
from skshapley.testing import check_display

RNG = np.random.default_rng(0)
WEIGHTS = np.array([1.0, -2.0, 0.5])
X = RNG.normal(size=(12, 3))
# Attributions of a linear model against one row of zeros
VALUES = X * WEIGHTS
SIZES = np.abs(VALUES).mean(axis=0)
TIMES = [0.5, 1.5]


def linear(X):
    return X @ WEIGHTS


def at_two_times(X):
    return pd.DataFrame(linear(X)[:, None] * TIMES, columns=TIMES)


def explained(model=linear, rows=X, **options):
    return ShapleyExplainer(model, **options).fit(np.zeros((1, 3))).explain(rows)


def products(X):
    return X[:, 0] * X[:, 1] + X[:, 2]


ROW = explained(rows=X[:1])
ROWS = explained()
PERIODS = np.arange(12) // 4
CURVE = masking_curve(lambda S: S @ WEIGHTS, WEIGHTS, fractions=(0, 1))
COMPARED = compare(ROWS[:6], ROWS[6:])
# The second model has twice the values of the first.
REFITS = VALUES[:, :, None] + 0.1 * np.random.default_rng(1).normal(size=(12, 3, 4))
REFITTED = compare_refits(
    replace(ROWS, refit_values=REFITS),
    replace(ROWS, values=2 * VALUES, refit_values=2 * REFITS),
)
# The product of two columns is their interaction; the third has a main effect only.
PAIRS = {(1, 0): X[0, 0] * X[0, 1], (2, 2): X[0, 2]}
CELLS = [PAIRS.get((i, j), 0.0) for i in range(3) for j in range(i + 1)]

# For each display, the function that draws it on axes, and the numbers of its frame
CASES = {
    BarDisplay: (lambda ax: ROWS.plot.bar(ax=ax), {"value": SIZES}),
    WaterfallDisplay: (lambda ax: ROW.plot.waterfall(ax=ax), {"value": VALUES[0]}),
    BeeswarmDisplay: (lambda ax: ROWS.plot.beeswarm(ax=ax), {"value": VALUES}),
    DependenceDisplay: (
        lambda ax: ROWS.plot.dependence(ax=ax),
        {"value": VALUES, "data": X},
    ),
    MatrixDisplay: (lambda ax: ROWS.plot.matrix(ax=ax), {"*": VALUES}),
    DecisionDisplay: (
        lambda ax: ROWS.plot.decision(ax=ax),
        {"end": np.cumsum(VALUES[:, np.argsort(SIZES)], axis=1), "value": VALUES},
    ),
    HeatMapDisplay: (lambda ax: ROW.plot.heat_map(3, ax=ax), {"value": VALUES[0]}),
    ImportanceDisplay: (lambda ax: ROWS.plot.importance(ax=ax), {"value": SIZES}),
    InteractionsDisplay: (
        lambda ax: explained(products, X[:1], interactions=True).plot.interactions(
            ax=ax
        ),
        {"value": CELLS},
    ),
    OverOutputsDisplay: (
        lambda ax: explained(at_two_times, X[:1]).plot.over_outputs(ax=ax),
        {"value": np.outer(VALUES[0], TIMES)},
    ),
    SentenceDisplay: (lambda ax: ROW.plot.sentence(ax=ax), {"value": VALUES[0]}),
    ConvergenceDisplay: (
        lambda ax: ConvergenceDisplay.from_explanations([ROW], axes=ax),
        {"value": VALUES[0]},
    ),
    ControlChartDisplay: (
        lambda ax: ControlChartDisplay.from_drift(drift(ROWS, PERIODS), ax=ax),
        {"mean": VALUES.reshape(3, 4, 3).mean(axis=1)},
    ),
    DumbbellDisplay: (
        lambda ax: DumbbellDisplay.from_comparison(COMPARED, kind="attribution", ax=ax),
        {"first": VALUES[:6].mean(axis=0), "second": VALUES[6:].mean(axis=0)},
    ),
    RefitComparisonDisplay: (
        lambda ax: RefitComparisonDisplay.from_comparison(REFITTED, ax=ax),
        {"difference": np.sqrt((VALUES**2).mean(axis=0))},
    ),
    MaskingCurveDisplay: (
        lambda ax: MaskingCurveDisplay.from_curves(CURVE, ax=ax),
        {"mean": [0.0, -WEIGHTS.sum()]},
    ),
}
# The artists of a text are its words.
SKIPPED = {SentenceDisplay: ("artists",)}


def concrete_displays():
    members = [getattr(plots, name) for name in plots.__all__]
    return {
        member
        for member in members
        if hasattr(member, "frame") and not inspect.isabstract(member)
    } - {plots.SmallMultiples}


def test_every_display_has_a_case():
    assert concrete_displays() == CASES.keys()


EACH_DISPLAY = pytest.mark.parametrize(
    "display", CASES, ids=lambda display: display.__name__
)
FAST = (WaterfallDisplay, MatrixDisplay)
SOME_DISPLAYS = pytest.mark.parametrize(
    "display",
    [
        pytest.param(
            display,
            id=display.__name__,
            marks=() if display in FAST else pytest.mark.slow,
        )
        for display in CASES
    ],
)


@EACH_DISPLAY
def test_contract(display):
    draw, numbers = CASES[display]
    check_display(draw, numbers, SKIPPED.get(display, ()))


@SOME_DISPLAYS
def test_an_empty_picture_is_noticed(display, monkeypatch):
    draw, numbers = CASES[display]
    monkeypatch.setattr(display, "_draw", lambda self, *axes: None)
    with pytest.raises(AssertionError):
        check_display(draw, numbers, SKIPPED.get(display, ()))


@SOME_DISPLAYS
def test_doubled_numbers_are_noticed(display, monkeypatch):
    draw, numbers = CASES[display]
    frame = display.frame
    column = next(iter(numbers))

    def doubled(self):
        table = frame(self)
        if column == "*":
            return 2 * table
        return table.assign(**{column: 2 * table[column]})

    monkeypatch.setattr(display, "frame", doubled)
    with pytest.raises(AssertionError, match="frame"):
        check_display(draw, numbers, SKIPPED.get(display, ()))


def test_doubled_bars_are_noticed(monkeypatch):
    """A frame with the right numbers does not excuse a picture with others."""
    draw, numbers = CASES[BarDisplay]
    original = BarDisplay._draw

    def doubled(self, ax):
        table = self.table
        self.table = table.assign(value=2 * table["value"])
        original(self, ax)
        self.table = table

    monkeypatch.setattr(BarDisplay, "_draw", doubled)
    with pytest.raises(AssertionError, match="no artist shows"):
        check_display(draw, numbers)

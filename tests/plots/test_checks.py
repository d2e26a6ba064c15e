"""Every display refuses invalid parameters before it computes or draws."""

import matplotlib.pyplot as plt
import pytest

from skshapley.plots import ConvergenceDisplay, PlotAccessor


class Unread:
    """An explanation with readable names and unreadable numbers."""

    def __init__(self, explanation):
        self.known = explanation

    def __len__(self):
        return len(self.known)

    def __getattr__(self, name):
        assert name in ("feature_names", "output_names"), (
            f"{name} was read before all checks"
        )
        return getattr(self.known, name)

    @property
    def plot(self):
        return PlotAccessor(self)


DRAWN = {
    "waterfall": lambda e, **options: e.plot.waterfall(**{"row": 0, **options}),
    "bar": lambda e, **options: e.plot.bar(**options),
    "beeswarm": lambda e, **options: e.plot.beeswarm(**options),
    "dependence": lambda e, **options: e.plot.dependence(**options),
    "matrix": lambda e, **options: e.plot.matrix(**options),
    "decision": lambda e, **options: e.plot.decision(**options),
    "heat_map": lambda e, **options: e.plot.heat_map(
        **{"row": 0, "shape": 5, **options}
    ),
    "sentence": lambda e, **options: e.plot.sentence(**{"row": 0, **options}),
    "convergence": lambda e, ax=None, **options: ConvergenceDisplay.from_explanations(
        [e], axes=ax, **{"row": 0, **options}
    ),
}
OF_ONE_ROW = ("waterfall", "heat_map", "sentence", "convergence")
WITHOUT_ROW = ("beeswarm", "dependence", "matrix", "decision")
WITHOUT_COUNT = ("heat_map", "sentence")


@pytest.fixture
def no_figure():
    """Fails if a figure is made before an error is raised."""
    yield
    assert not plt.get_fignums()


@pytest.mark.usefixtures("no_figure")
@pytest.mark.parametrize("display", DRAWN.keys())
class TestInvalid:
    def test_axes(self, display, explanation):
        with pytest.raises(
            TypeError,
            match=r"(Display|plot[.][a-z_]+) takes axe?s? as .* None for a new figure; got 'left'",
        ):
            DRAWN[display](Unread(explanation), ax="left")

    def test_outputs(self, display, explanation, explanation_maker):
        with pytest.raises(
            ValueError,
            match=r"(Display|plot[.][a-z_]+) got output='cat' .*single output: choose",
        ):
            DRAWN[display](Unread(explanation), output="cat")
        several = explanation_maker(outputs=["cat", "dog"])
        with pytest.raises(
            ValueError,
            match=r"(Display|plot[.][a-z_]+) got output='cow': .*'cat', 'dog'",
        ):
            DRAWN[display](Unread(several), output="cow")

    @pytest.mark.parametrize("wrong", ["row 3", 1.0, True])
    def test_rows(self, display, explanation, wrong):
        if display not in WITHOUT_ROW:
            with pytest.raises(
                TypeError,
                match=rf"(Display|plot[.][a-z_]+) takes row as .*; got {wrong!r}: .*get_loc",
            ):
                DRAWN[display](Unread(explanation), row=wrong)

    @pytest.mark.parametrize("wrong", [12, -13])
    def test_missing_rows(self, display, explanation, wrong):
        if display not in WITHOUT_ROW:
            with pytest.raises(
                IndexError, match=rf"got row={wrong} .* 12 rows: .* 0 to 11"
            ):
                DRAWN[display](Unread(explanation), row=wrong)

    def test_row_not_given(self, display, explanation):
        if display in OF_ONE_ROW:
            with pytest.raises(
                ValueError, match=r"got row=None, .* has 12: .* 0 to 11"
            ):
                DRAWN[display](Unread(explanation), row=None)

    @pytest.mark.parametrize("wrong", [0, -1, 2.5, "all", True])
    def test_counts(self, display, explanation, wrong):
        if display not in WITHOUT_COUNT:
            with pytest.raises(
                ValueError, match=f"as None or a positive int; got {wrong!r}"
            ):
                DRAWN[display](Unread(explanation), max_features=wrong)

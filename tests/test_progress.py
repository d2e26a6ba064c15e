"""Progress: scikit-learn's callbacks are told of every share of the instances, and torn down."""

import numpy as np
import pytest

from skshapley import ShapleyExplainer
from skshapley._tools._progress import progress


class Recorder:
    """A callback that keeps what it is told."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))

    def teardown(self, estimator, context):
        self.events.append("teardown")


@pytest.fixture
def explainer():
    pytest.importorskip("sklearn.callback")
    rng = np.random.default_rng(0)
    return ShapleyExplainer(lambda X: X.sum(axis=1)).fit(rng.normal(size=(3, 2)))


@pytest.mark.parametrize(("n", "steps"), [(1, 1), (7, 7), (250, 100)])
def test_callbacks_see_each_share_begin_and_end(explainer, n, steps):
    recorder = Recorder()
    explainer.set_callbacks(recorder).explain(np.zeros((n, 2)))
    assert recorder.events[:2] == ["setup", ("begin", "explain")]
    assert recorder.events[-2:] == [("end", "explain"), "teardown"]
    assert recorder.events.count(("begin", "instances")) == steps
    assert recorder.events.count(("end", "instances")) == steps


def test_callbacks_are_torn_down_when_the_model_fails(explainer):
    recorder = Recorder()
    explainer.set_callbacks(recorder)
    with pytest.raises(ValueError, match="NaN or infinity"):
        explainer.explain(np.array([[np.nan, 0.0]]))
    explainer.set_callbacks()  # and none are left
    explainer.explain(np.zeros((2, 2)))
    assert recorder.events.count("setup") == recorder.events.count("teardown")


@pytest.mark.parametrize(("total", "of"), [(40, "/40"), (None, "")])
def test_a_log_gets_lines_with_pace_and_time_left(total, of, capsys, monkeypatch):
    now = 0.0
    monkeypatch.setattr("skshapley._tools._progress.time.monotonic", lambda: now)
    with progress(total, verbose=1) as report:
        for now in (0.5, 2.0, 4.0):  # half a second after the start nothing is said
            report(10 + int(5 * now), before=10)
    left = [", 4 s left", ", 2 s left"] if total else ["", ""]
    assert capsys.readouterr().err.splitlines() == [
        f"explaining: 20{of}, 5 rows/s{left[0]}",
        f"explaining: 30{of}, 5 rows/s{left[1]}",
    ]


def test_nothing_is_said_unless_asked_for(capsys):
    with progress(3, verbose=0) as report:
        assert report is None
    assert not capsys.readouterr().err

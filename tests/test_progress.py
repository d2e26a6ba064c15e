"""Progress: scikit-learn's callbacks are told of every share of the instances, and torn down."""

import sys
from types import ModuleType, SimpleNamespace

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


class ZMQInteractiveShell:
    """What runs the cells of a notebook bears this name."""


@pytest.fixture
def notebook(monkeypatch):
    """The outputs of a notebook's cell, each with the texts it had."""
    outputs = []

    def display(thing, display_id):
        assert display_id
        outputs.append([thing._repr_html_()])
        return SimpleNamespace(update=lambda same: outputs[-1].append(same._repr_html_()))

    shown = ModuleType("IPython.display")
    shown.display = display
    ipython = ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return outputs


@pytest.mark.parametrize("total", [40, None])
def test_a_notebook_gets_one_bar_that_moves(total, notebook, capsys, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("skshapley._tools._progress.time.monotonic", lambda: clock[0])
    with progress(total, verbose=1, label="<b>") as report:
        for done, clock[0] in ((10, 1.0), (11, 1.05), (20, 2.0), (40, 2.01)):
            report(done)
    captured = capsys.readouterr()
    assert not captured.out + captured.err
    (texts,) = notebook
    values = ['value="10"', 'value="20"', 'value="40"'] if total else ["", ""]
    assert len(texts) == len(values)  # one of them came too soon after the one before
    for text, value in zip(texts, values, strict=True):
        assert text.startswith("<progress")
        assert value in text
        assert "&lt;b&gt;: " in text


def test_explaining_in_a_notebook_warns_of_nothing(notebook, capsys):
    explainer = ShapleyExplainer(lambda X: X.sum(axis=1), verbose=1).fit(np.zeros((1, 2)))
    explainer.explain(np.zeros((30, 2)))
    assert len(notebook) == 1
    assert "30/30" in notebook[0][-1]
    assert not capsys.readouterr().err

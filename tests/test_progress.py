"""Long work reports its time and faster settings; short work is silent."""

import io
from contextlib import redirect_stderr

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from skshapley import DataShapley, ShapleyExplainer
from skshapley._tools._resources import duration, progress


@pytest.fixture
def clock(monkeypatch):
    """The time, in seconds, which the test sets."""
    now = [0.0]
    monkeypatch.setattr("skshapley._tools._resources.time.time", lambda: now[0])
    return now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def after(report, clock, seconds, done, **more):
    clock[0] = seconds
    report(done, **more)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (40, "40 s"),
        (240, "4 min"),
        (1500, "25 min"),
        (11000, "3 h"),
        (2e5, "2 days"),
    ],
)
def test_times_are_rounded_for_reading(seconds, words):
    assert duration(seconds) == words


def test_a_service_gets_progress_and_hints_by_its_logger(clock, capsys, caplog):
    """The lines are routed once, to the handlers of the service instead of stderr."""
    caplog.set_level("INFO", logger="skshapley")
    with progress(10_000, advice=lambda seconds: "pass max_rows=2000") as report:
        after(report, clock, 2, 13)
        after(report, clock, 4, 26)
    first, *lines = caplog.messages
    assert first == "explaining 10,000 rows, about 26 min left; pass max_rows=2000"
    assert all("of 10,000 rows" in line for line in lines)
    assert lines
    assert {record.name for record in caplog.records} == {"skshapley"}
    assert not capsys.readouterr().err


def test_silent_work_is_not_logged(clock, capsys, caplog):
    caplog.set_level("INFO", logger="skshapley")
    with progress(10_000, False) as report:
        after(report, clock, 2, 13)
    assert not caplog.messages
    assert not capsys.readouterr().err


def test_long_work_reports_its_time_and_faster_settings_once(clock, capsys):
    with progress(
        10_000, advice=lambda seconds: f"less than {seconds:.0f} s"
    ) as report:
        after(report, clock, 2, 13)
        after(report, clock, 4, 26)
    assert capsys.readouterr().err == (
        "explaining 10,000 rows, about 26 min left; less than 1536 s\n"
    )


@pytest.mark.parametrize("verbose", ["auto", True])
def test_terminals_show_a_bar(clock, verbose):
    with redirect_stderr(Terminal()) as terminal, progress(1000, verbose) as report:
        after(report, clock, 2, 10)
        after(report, clock, 4, 20)
    text = terminal.getvalue()
    assert "20/1000" in text
    assert text.startswith("explaining 1,000 rows, about 3 min left\n") == (
        verbose == "auto"
    )


@pytest.mark.parametrize("verbose", ["auto", False, 0])
def test_short_work_is_silent(clock, capsys, verbose):
    with redirect_stderr(Terminal()) as terminal, progress(100, verbose) as report:
        after(report, clock, 2, 30)
        after(report, clock, 4, 100)
    assert not terminal.getvalue()


def test_progress_false_is_silent(clock, capsys):
    with progress(10**9, verbose=False) as report:
        after(report, clock, 20, 1)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(("total", "of"), [(40, " of 40"), (None, "")])
def test_logs_show_rate_and_remaining_time(total, of, clock, capsys):
    with progress(total, verbose=1) as report:
        after(report, clock, 0.5, 12, before=10)
        after(report, clock, 1.0, 14, before=10)  # too soon after the one before
        after(report, clock, 4.0, 30, before=10)
    left = [", 7 s left", ", 2 s left"] if total else ["", ""]
    assert capsys.readouterr().err.splitlines() == [
        f"explaining: 12{of} rows, 4 rows/s{left[0]}",
        f"explaining: 30{of} rows, 5 rows/s{left[1]}",
    ]


def test_explainers_suggest_exact_and_faster_settings(clock, capsys):
    """The model sets the clock: a second for each call."""
    X, y = make_classification(120, 8, random_state=0)
    model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    answer = model.predict_proba

    def slow(X):
        clock[0] += 10
        return answer(X)

    model.predict_proba = slow
    ShapleyExplainer(model, max_rows=300_000).fit(X).explain(X[:3])
    message = capsys.readouterr().err
    assert message.startswith("explaining 3 rows, about ")
    assert "; response_method='log_odds' would be exact and take seconds; " in message
    assert "max_rows=30000 would take " in message


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_valuation_of_data_counts_its_fits(clock, capsys, n_jobs):
    """The scorer sets the clock: ten seconds for each fit, in this process."""
    X, y = make_classification(40, 4, random_state=0)

    def score(model, X, y):
        clock[0] += 10
        return model.score(X, y)

    with parallel_config("threading"):
        valuation = DataShapley(
            DecisionTreeClassifier(random_state=0),
            scoring=score,
            max_evals=100,
            n_jobs=n_jobs,
        )
        valuation.fit(X, y, X, y)
        message = capsys.readouterr().err
        assert message.startswith("evaluating 99 coalitions, about ")
        valuation.set_params(verbose=False).fit(X, y, X, y)
    assert not capsys.readouterr().err


def test_progress_is_reported_within_the_first_rows():
    """A block of the default budget is a small share of a long explanation."""
    called = []

    def model(X):
        called.append(len(X))
        return np.tanh(X).prod(axis=1)

    X = np.random.default_rng(0).normal(size=(200, 20))
    seen = []
    explainer = ShapleyExplainer(model, verbose=True).fit(X)
    with redirect_stderr(io.StringIO()) as log:
        explainer.explain(X[:40])
    seen = [int(line.split()[1]) for line in log.getvalue().splitlines()]
    assert seen[0] <= 20
    assert seen[-1] == 40

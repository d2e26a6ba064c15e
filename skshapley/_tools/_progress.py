"""Progress of long work: scikit-learn's callbacks, a bar, or a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, TypeVar

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin."""


Method = TypeVar("Method", bound=Callable)

CALLBACK_STEPS = 100
NOTEBOOK_SECONDS = 0.1  # between two updates of a notebook's bar


def with_callbacks(method: Method) -> Method:
    """Return a method that ends its callbacks' work, where scikit-learn has callbacks.

    scikit-learn's own decorator has no types, and would hide those of the method.
    """
    return method if _with_callbacks is None else _with_callbacks(method)


@contextmanager
def callbacks(estimator: Any, total: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function of the number of finished instances that tells the estimator's callbacks.

    Parameters
    ----------
    estimator : CallbackSupportMixin
        Its callbacks see one task with at most `CALLBACK_STEPS` subtasks, each a share of the
        instances. Without callbacks no task is made.
    total : int
    """
    if not getattr(estimator, "_skl_callbacks", None):
        yield None
        return
    steps, told = min(total, CALLBACK_STEPS), 0
    context = estimator._init_callback_context(task_name="explain", max_subtasks=steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report(done) -> None:
        nonlocal told
        while told < done * steps // total:
            share = context.subcontext(task_name="instances")
            share.call_on_fit_task_begin(estimator=estimator)
            share.call_on_fit_task_end(estimator=estimator)
            share.parent = None  # or parent and child keep each other until the collector comes
            told += 1

    yield report
    context.call_on_fit_task_end(estimator=estimator)


@contextmanager
def progress(
    total: int | None, verbose: int, label: str = "explaining"
) -> Iterator[Callable[..., None] | None]:
    """Yield a function of the number of finished rows, or None where nothing is to be shown.

    The function also takes how many of them were there before, which say nothing of the pace.

    Parameters
    ----------
    total : int or None
        None where nobody knows.
    verbose : int
        0 is silent.
    label : str
    """
    if not verbose:
        yield None
        return
    start = time.monotonic()

    def pace(done, before) -> str:
        rate = (done - before) / max(time.monotonic() - start, 1e-9)
        left = f", {(total - done) / rate:.0f} s left" if total is not None and rate else ""
        return f"{rate:.3g} rows/s{left}"

    if _is_notebook():
        yield _NotebookBar(total, label, pace).report
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    except ImportError:
        yield _lines(total, label, pace)
        return
    console = Console(stderr=True)
    if not console.is_terminal:  # a log gets lines
        yield _lines(total, label, pace)
        return
    columns = label, BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}")
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(label, total=total, pace="")
        yield lambda done, before=0: bar.update(task, completed=done, pace=pace(done, before))


def _is_notebook() -> bool:
    """Return whether this runs in the kernel of a notebook, where rich's bar needs ipywidgets."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell" or "colab" in type(shell).__module__


class _NotebookBar:
    """A bar in the output of a notebook's cell, which is drawn once and then updated.

    Parameters
    ----------
    total : int or None
    label : str
    pace : callable
        Returns the text beside the bar, given how much is done and how much was before.
    """

    def __init__(self, total: int | None, label: str, pace: Callable[[int, int], str]) -> None:
        self.total = total
        self.label = label
        self.pace = pace
        self.handle: Any = None
        self.last = -np.inf
        self.state = 0, ""

    def report(self, done: int, before: int = 0) -> None:
        """Show how much is done, ten times a second at most."""
        now = time.monotonic()
        if done != self.total and now - self.last < NOTEBOOK_SECONDS:
            return
        self.last, self.state = now, (done, self.pace(done, before))
        if self.handle is None:
            from IPython.display import display

            self.handle = display(self, display_id=True)
        else:
            self.handle.update(self)

    def __repr__(self) -> str:
        done, beside = self.state
        of = "" if self.total is None else f"/{self.total}"
        return f"{self.label}: {done}{of}, {beside}"

    def _repr_html_(self) -> str:
        ends = "" if self.total is None else f' value="{self.state[0]}" max="{self.total}"'
        return f"<progress{ends}></progress> {escape(repr(self))}"


def _lines(total: int | None, label: str, pace: Callable[[int, int], str]) -> Callable[..., None]:
    """Return a reporter that prints lines, ever fewer of them, and one at the end."""
    start = last = time.monotonic()

    def report(done, before=0) -> None:
        nonlocal last
        now = time.monotonic()
        if done == total or now - last >= max(1, (now - start) / 50):
            last = now
            of = "" if total is None else f"/{total}"
            sys.stderr.write(f"{label}: {done}{of}, {pace(done, before)}\n")

    return report

"""Progress of long work: scikit-learn's callbacks, a rich bar, or a line now and then."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks
    _with_callbacks = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin."""


Method = TypeVar("Method", bound=Callable)

CALLBACK_STEPS = 100


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

    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    except ImportError:
        yield _lines(total, label, pace)
        return
    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):  # a log gets lines
        yield _lines(total, label, pace)
        return
    columns = label, BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}")
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(label, total=total, pace="")
        yield lambda done, before=0: bar.update(task, completed=done, pace=pace(done, before))


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

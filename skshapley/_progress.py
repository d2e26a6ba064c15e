"""Progress of long work: scikit-learn's callbacks, a rich bar, or a line now and then."""

import sys
import time
from contextlib import contextmanager

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9 has no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's mixin."""

    def with_callbacks(method):
        """Return the method as it is."""
        return method


CALLBACK_STEPS = 100


@contextmanager
def callbacks(estimator, total: int):
    """Yield a function of the number of finished instances that tells the estimator's callbacks.

    Parameters
    ----------
    estimator : CallbackSupportMixin
        Its callbacks see one task with at most `CALLBACK_STEPS` subtasks, each a share of the
        instances.
    total : int
    """
    if not hasattr(estimator, "set_callbacks"):
        yield None
        return
    steps, told = min(total, CALLBACK_STEPS), 0
    context = estimator._init_callback_context(task_name="explain", max_subtasks=steps)
    context.call_on_fit_task_begin(estimator=estimator)

    def report(done):
        nonlocal told
        while told < done * steps // total:
            share = context.subcontext(task_name="instances")
            share.call_on_fit_task_begin(estimator=estimator)
            share.call_on_fit_task_end(estimator=estimator)
            told += 1

    yield report
    context.call_on_fit_task_end(estimator=estimator)


@contextmanager
def progress(total: int, verbose: int, label: str = "explaining"):
    """Yield a function of the number of finished instances, or None where nothing is to be shown.

    Parameters
    ----------
    total : int
    verbose : int
        0 is silent.
    label : str
    """
    if not verbose:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    except ImportError:
        yield _lines(total, label)
        return
    columns = label, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=total)
        yield lambda done: bar.update(task, completed=done)


def _lines(total, label):
    """Return a reporter that prints at most one line a second, and the last one."""
    start = last = time.monotonic()

    def report(done):
        nonlocal last
        now = time.monotonic()
        if done == total or now - last >= 1:
            last = now
            left = (now - start) / max(done, 1) * (total - done)
            sys.stderr.write(f"{label}: {done}/{total}, {left:.0f} s left\n")

    return report

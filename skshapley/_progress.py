"""Progress of long work: a rich bar where rich is installed, else a line now and then."""

import sys
import time
from contextlib import contextmanager


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

"""Resources of long work: the memory of a step, the remaining time, and a bar."""

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sklearn


def working_bytes(share: float = 1.0) -> float:
    """Return a share of the working memory, in bytes (``sklearn.set_config(working_memory=)``)."""
    return sklearn.get_config()["working_memory"] * 2**20 * share


LONG = 10.0  # seconds of work without a message
SETTLED = 0.5  # seconds until the pace is reliable
BETWEEN_LINES = 1.25  # factor between the times of two lines in a log

LOGGER = logging.getLogger("skshapley")

Advice = Callable[[float], str]


def duration(seconds: float) -> str:
    """Return a duration as text: "40 s", "25 min", "3 h" or "2 days"."""
    for unit, size, most in (("s", 1, 90), ("min", 60, 90), ("h", 3600, 36)):
        if (count := round(seconds / size)) < most:
            return f"{count} {unit}"
    return f"{round(seconds / 86400)} days"


@contextmanager
def progress(
    total: int | None,
    verbose: bool | int | str = "auto",
    label: str = "explaining",
    advice: Advice | None = None,
    unit: str = "rows",
) -> Iterator[Callable[..., None]]:
    """Yield a function that reports the number of finished units.

    The function also takes the number of earlier units, which the pace ignores.

    Parameters
    ----------
    total : int or None
        The number of units, None if unknown.
    verbose : bool, int or "auto"
        "auto" shows progress once the remaining time is known to exceed 10 s: a bar on
        a terminal or in a notebook, one line on stderr elsewhere. True always shows it;
        in a log, by a line now and then. If the logger "skshapley" handles the level
        INFO, it gets all lines instead of stderr. False: no bar and no lines.
    label : str
        The work, as a participle.
    advice : callable, default=None
        Returns faster calls, given the seconds left. Shown once, with "auto".
    unit : str, default="rows"
        The noun of a unit.
    """
    if not verbose or (sys.stderr is None and not _is_logged()):
        yield lambda done, before=0: None
        return
    requested = verbose != "auto"
    start = time.time()
    next_line = 0.0
    visible = requested
    bar = None

    def report(done: int, before: int = 0) -> None:
        """Show the number of finished units, including units of an earlier run."""
        nonlocal visible, bar, next_line
        seconds = time.time() - start
        rate = (done - before) / max(seconds, 1e-9)
        left = (total - done) / rate if total is not None and rate else None
        if not visible and left is not None and left > LONG and seconds >= SETTLED:
            visible = True
            words = f"{label} {total:,} {unit}, about {duration(left)} left"
            faster = "" if advice is None else advice(left)
            _say(f"{words}; {faster}" if faster else words)
        # a terminal or a notebook can update a bar, unless lines are logged
        has_bar = not _is_logged() and (
            sys.stderr.isatty() or "ipykernel" in sys.modules
        )
        if visible and has_bar:
            if bar is None:
                with warnings.catch_warnings():
                    # A notebook without ipywidgets has a bar of text.
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
                bar = tqdm(
                    total=total,
                    desc=label,
                    initial=before,
                    unit=f" {unit}",
                    smoothing=0,
                )
                bar.start_t = start
            bar.update(done - bar.n)
        elif (requested or (visible and _is_logged())) and (
            done == total or seconds >= next_line
        ):
            next_line = max(seconds + 1, BETWEEN_LINES * seconds)
            of = "" if total is None else f" of {total:,}"
            remaining = "" if left is None else f", {duration(left)} left"
            _say(f"{label}: {done:,}{of} {unit}, {rate:.3g} {unit}/s{remaining}")

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()


def _is_logged() -> bool:
    return LOGGER.isEnabledFor(logging.INFO) and LOGGER.hasHandlers()


def _say(line: str) -> None:
    """Log a line, or write it on stderr if no handler takes it."""
    if _is_logged():
        LOGGER.info(line)
        return
    sys.stderr.write(line + "\n")

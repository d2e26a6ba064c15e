"""Progress of long work: the remaining time, and a bar."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LONG = 10.0  # seconds of work without a message
SETTLED = 0.5  # seconds until the pace is reliable
BETWEEN_LINES = 1.25  # factor between the times of two lines in a log

Advice = Callable[[float], str]


def span(seconds: float) -> str:
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
) -> Iterator[Callable[..., None] | None]:
    """Yield a function that reports the number of finished units, or None if `verbose` is false.

    The function also takes the number of earlier units, which the pace ignores.

    Parameters
    ----------
    total : int or None
        The number of units, None if unknown.
    verbose : bool, int or "auto"
        "auto" shows progress once the remaining time is known to exceed 10 s: a bar on a terminal
        or in a notebook, one line on stderr elsewhere. True always shows it; in a log, by a line
        now and then.
    label : str
        The work, as a participle.
    advice : callable, default=None
        Returns faster calls, given the seconds left. Shown once, with "auto".
    unit : str, default="rows"
        The noun of a unit.
    """
    if not verbose or sys.stderr is None:
        yield None
        return
    shown = _Progress(total, verbose != "auto", label, advice, unit)
    try:
        yield shown.report
    finally:
        if shown.bar is not None:
            shown.bar.close()


class _Progress:
    """Progress of a run; it prints nothing before there is something to report."""

    def __init__(
        self, total: int | None, asked: bool, label: str, advice: Advice | None, unit: str
    ) -> None:
        self.total, self.asked, self.label, self.advice = total, asked, label, advice
        self.unit = unit
        self.start, self.next_line = time.time(), 0.0
        self.shown = asked
        self.bar: Any = None

    def report(self, done: int, before: int = 0) -> None:
        """Show the number of finished units, including units of an earlier run."""
        seconds = time.time() - self.start
        rate = (done - before) / max(seconds, 1e-9)
        left = (self.total - done) / rate if self.total is not None and rate else None
        if not self.shown and left is not None and left > LONG and seconds >= SETTLED:
            self.shown = True
            advice = "" if self.advice is None else self.advice(left)
            about = f"{self.label} {self.total:,} {self.unit}, about {span(left)} left"
            self._say(f"{about}; {advice}" if advice else about)
        if self.shown and _is_interactive():
            if self.bar is None:
                self.bar = _bar(self.total, self.label, before, self.start, self.unit)
            self.bar.update(done - self.bar.n)
        elif self.asked and (done == self.total or seconds >= self.next_line):
            self.next_line = max(seconds + 1, BETWEEN_LINES * seconds)
            of = "" if self.total is None else f" of {self.total:,}"
            rest = "" if left is None else f", {span(left)} left"
            self._say(f"{self.label}: {done:,}{of} {self.unit}, {rate:.3g} {self.unit}/s{rest}")

    def _say(self, line: str) -> None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _is_interactive() -> bool:
    """Return True if a bar can be updated: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _bar(total: int | None, label: str, before: int, start: float, unit: str) -> Any:
    """Return tqdm's bar for this terminal or notebook."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a notebook without ipywidgets has a bar of text
        from tqdm.auto import tqdm
    bar = tqdm(total=total, desc=label, initial=before, unit=f" {unit}", smoothing=0)
    bar.start_t = start
    return bar

"""The arguments of the command line, and its exit."""

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import skshapley
from skshapley._cli._commands import (
    FAILED,
    KINDS,
    USAGE,
    UsageError,
    run_explain,
    run_plot,
    run_report,
    run_status,
)
from skshapley.exceptions import PartialExplanationError

ABOUT = (
    "Explain the predictions of a fitted model by Shapley values, with standard errors."
)


def main(argv: list[str] | None = None) -> int:
    """Execute a command line and return its exit status.

    Parameters
    ----------
    argv : list of str, default=None
        None: the arguments of the process.
    """
    parser = _parser()
    argv = sys.argv[1:] if argv is None else argv
    if not argv:
        parser.print_help(sys.stderr)
        parser.exit(USAGE)
    arguments = parser.parse_args(argv)
    try:
        with _ended_by_sigterm():
            return arguments.command(arguments)
    except UsageError as error:
        return _reported(error, USAGE)
    except (KeyboardInterrupt, PartialExplanationError):
        return _reported("interrupted; repeat the command to continue", FAILED)
    except MemoryError:
        return _reported("out of memory; repeat the command to continue", FAILED)
    except Exception as error:  # an error of a model or a library, of any kind
        user_errors = (
            ValueError,
            TypeError,
            IndexError,
            OSError,
            RuntimeError,
            ImportError,
        )
        # Messages of these types are sentences; others, such as a KeyError, mean
        # nothing without the type.
        kind = "" if isinstance(error, user_errors) else f"{type(error).__name__}: "
        return _reported(f"{kind}{error}", FAILED)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that workers and lock are released."""
    # Python allows signal handlers in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _reported(error: Exception | str, status: int) -> int:
    sys.stderr.write(f"skshapley: {error}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "skshapley",
        description=ABOUT,
        **_manual("skshapley"),
    )
    parser.add_argument("--version", action="version", version=skshapley.__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (summary, arguments, command) in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            **_manual(name),
        )
        for argument, options in arguments.items():
            subparser.add_argument(argument, **options)
        subparser.set_defaults(command=command)
    return parser


def _manual(name: str) -> dict[str, Any]:
    """Return the manual of a command for argparse."""
    return {
        "epilog": (files("skshapley._cli") / "manuals" / f"{name}.txt").read_text(
            encoding="utf-8",
        ),
        "formatter_class": argparse.RawDescriptionHelpFormatter,
    }


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"a positive number, not {text!r}")
    return value


FILE = {"type": Path, "metavar": "FILE"}
NAMES = {"nargs": "+", "metavar": "NAME"}
NUMBER = {"type": int, "metavar": "N"}
POSITIVE = {"type": _positive, "metavar": "N"}
# The arguments of each command, as `add_argument` takes them
Arguments = dict[str, dict[str, Any]]
EXPLAIN: Arguments = {
    "--model": {**FILE, "required": True, "help": "the fitted model"},
    "--background": {**FILE, "required": True, "help": "rows for absent features"},
    "--data": {
        "type": Path,
        "required": True,
        "metavar": "PATH",
        "help": "the rows to explain",
    },
    "--out": {
        "type": Path,
        "required": True,
        "metavar": "FOLDER",
        "help": "where the results go",
    },
    "--config": {**FILE, "help": "parameters of the explainer, TOML or JSON"},
    "--columns": {**NAMES, "help": "columns of a model without feature names"},
    "--keys": {**NAMES, "help": "columns that identify rows"},
    "--batch-rows": {**POSITIVE, "help": "rows a batch (4096; of documents 256)"},
    "--on-error": {
        "choices": ("raise", "skip"),
        "default": "raise",
        "help": "what to do about rows that cannot be explained: end the run (raise, "
        "the default), or set them aside with their keys and errors",
    },
    "--n-jobs": {**NUMBER, "help": "workers; -1 for all cores (default: one)"},
    "--random-state": {
        **NUMBER,
        "help": "seed (default: the configuration's, or 0)",
    },
    "--trust": {
        "nargs": "+",
        "default": [],
        "metavar": "TYPE",
        "help": "types that a .skops file may hold",
    },
    "--trust-pickle": {
        "action": "store_true",
        "help": "load pickles: they may run any code",
    },
    "--quiet": {"action": "store_true", "help": "show no progress"},
}
STATUS: Arguments = {
    "folder": {
        "type": Path,
        "metavar": "FOLDER",
        "help": "what `skshapley explain` wrote",
    }
}
FEATURES = {**POSITIVE, "help": "features to show one by one"}
OVERWRITE: Arguments = {
    "--overwrite": {
        "action": "store_true",
        "help": "replace FILE where there is one",
    }
}
PLOT: Arguments = {
    **STATUS,
    "--kind": {"choices": KINDS, "required": True, "help": "the display"},
    "--output": {
        "metavar": "LABEL",
        "help": "the output to show, where there are several",
    },
    "--row": {**NUMBER, "help": "the row to show, from 0, of those explained"},
    "--features": {**NAMES, "help": "the features to show"},
    "--out": {**FILE, "required": True, "help": "the picture: .png, .svg, .pdf ..."},
    "--max-rows": {
        **POSITIVE,
        "default": 2000,
        "help": "rows to show, evenly spread (2000)",
    },
    "--max-features": FEATURES,
    **OVERWRITE,
}
REPORT: Arguments = {
    **STATUS,
    "--title": {
        "metavar": "TEXT",
        "help": "the title (default: named after the model)",
    },
    "--out": {**FILE, "required": True, "help": "the page: report.html"},
    "--max-rows": {
        **POSITIVE,
        "default": 1000,
        "help": "rows to show, evenly spread (1000)",
    },
    "--max-features": {**FEATURES, "default": 50},
    **OVERWRITE,
}
COMMANDS: dict[str, tuple[str, Arguments, Callable[[argparse.Namespace], int]]] = {
    "explain": ("explain a table into a folder", EXPLAIN, run_explain),
    "status": (
        "show the progress of a folder, and check its files",
        STATUS,
        run_status,
    ),
    "plot": ("draw a folder of explanations", PLOT, run_plot),
    "report": ("write a folder as a page for a browser", REPORT, run_report),
}

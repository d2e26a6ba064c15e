"""The words of the command line, and how it ends."""

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import skshapley
from skshapley._cli._explain import run_explain
from skshapley._cli._plot import DISPLAYS, run_plot
from skshapley._cli._report import run_report
from skshapley._cli._state import run_status
from skshapley._cli._status import FAILED, USAGE, UsageError
from skshapley.exceptions import PartialExplanationError

# A picture of 10 by 10 inches then takes half a gigabyte while it is drawn
MOST_DPI = 1200

CODES = """\
exit status:
  0  all went well
  1  the work failed, was interrupted, or some rows were set aside; what is finished is kept
  2  the command was wrong, and no work was begun
"""

ABOUT = "Explain the predictions of a fitted model by Shapley values, with standard errors."

MANUAL = f"""\
examples:
  skshapley explain --model model.skops --background bg.parquet --data rows.parquet --out phi/
  skshapley status phi/
  skshapley plot phi/ --kind beeswarm --out beeswarm.png
  skshapley report phi/ --out report.html

Each command has a manual of its own: skshapley explain --help, and so on.

{CODES}"""

EXPLAIN_MANUAL = f"""\
models:
  A .skops file is loaded by skops, which refuses types that it does not know until you name each
  of them after --trust. Anything else is taken for a pickle (joblib reads it), which can do
  whatever it likes to your machine when it is loaded: --trust-pickle says that you know where it
  comes from.

tables:
  Parquet files, folders of them, or CSV files. Of each the columns that the model was fitted on
  are taken, by name; a model that knows no names gets --columns, or all columns but the keys. The
  data are read a batch at a time, whatever their size.

results:
  A folder of Parquet files with one line per row and output: row, key:NAME, output, prediction,
  base_value, and value:NAME, error:NAME and data:NAME for each feature, where the error is the
  standard error of the value. pandas.read_parquet reads it, and `skshapley plot` draws it. The same
  command, given again after a crash, goes on where it stopped, and ends with the same bits; it
  makes damaged files anew, and tries again what was set aside (not with --no-retry).

configuration:
  Parameters of skshapley.ShapleyExplainer as TOML or JSON, for instance

    max_rows = 50_000
    response_method = "predict_proba"
    stopping = {{ rtol = 0.05 }}             # of skshapley.stopping.StandardError
    groups = {{ address = ["street", "city"] }}
    [sampler]                              # or just sampler = "leverage"
    name = "antithetic"
    references = "all"

examples:
  skshapley explain --model model.skops --background bg.parquet --data rows.parquet --out phi/
  skshapley explain --model model.joblib --trust-pickle --background bg.csv --data rows/ \\
      --out phi/ --keys customer day --on-error skip --config explainer.toml

{CODES}"""

STATUS_MANUAL = """\
Reads every file, and names those that are damaged or lost; the command that wrote the folder makes
them anew.

examples:
  skshapley status phi/

exit status:
  0  the run has finished, every row was explained, and every file holds what was written
  1  it has not finished, rows were set aside, or files are damaged or lost
  2  the folder was not written by `skshapley explain`
"""

PLOT_MANUAL = f"""\
examples:
  skshapley plot phi/ --kind beeswarm --out beeswarm.png
  skshapley plot phi/ --kind waterfall --row 12 --output setosa --out row12.svg
  skshapley plot phi/ --kind dependence --features age income --out dependence.pdf

{CODES}"""

REPORT_MANUAL = f"""\
One file, which opens in any browser without a server or a network: how sure the explanation is,
what matters, and each row with its waterfall. Importances are those of the rows that are shown.

examples:
  skshapley report phi/ --out report.html
  skshapley report phi/ --out report.html --title "Who cancels" --max-rows 5000

{CODES}"""


def main(argv: list[str] | None = None) -> int:
    """Carry out a command line and return its exit status.

    Parameters
    ----------
    argv : list of str, default=None
        None: the arguments of the process.
    """
    parser, argv = _parser(), sys.argv[1:] if argv is None else argv
    if not argv:
        parser.print_help(sys.stderr)
        parser.exit(USAGE)
    arguments = parser.parse_args(argv)
    try:
        with _ended_by_sigterm():
            return arguments.command(arguments)
    except UsageError as error:
        return _told(error, USAGE)
    except (KeyboardInterrupt, PartialExplanationError):
        return _told("interrupted; the same command goes on from here", FAILED)
    except MemoryError:
        return _told("out of memory; the same command goes on from here", FAILED)
    except (ValueError, TypeError, IndexError, OSError, RuntimeError, ImportError) as error:
        return _told(error, FAILED)
    except Exception as error:  # of a model or a library, of whatever kind
        return _told(f"{type(error).__name__}: {error}", FAILED)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does, so that workers and lock are let go."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _told(error: Exception | str, status: int) -> int:
    sys.stderr.write(f"skshapley: {error}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "skshapley",
        description=ABOUT,
        epilog=MANUAL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=skshapley.__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, about, manual, arguments, command in (
        (
            "explain",
            "explain a table into a folder",
            EXPLAIN_MANUAL,
            _explain_arguments,
            run_explain,
        ),
        (
            "status",
            "say how far a folder of explanations is, and whether it is whole",
            STATUS_MANUAL,
            _status_arguments,
            run_status,
        ),
        ("plot", "draw a folder of explanations", PLOT_MANUAL, _plot_arguments, run_plot),
        (
            "report",
            "write a folder of explanations as a page for a browser",
            REPORT_MANUAL,
            _report_arguments,
            run_report,
        ),
    ):
        one = commands.add_parser(
            name,
            help=about,
            description=f"{about[0].upper()}{about[1:]}.",
            epilog=manual,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        arguments(one)
        one.set_defaults(command=command)
    return parser


def _explain_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="FILE", help="the fitted model")
    add("--background", type=Path, required=True, metavar="FILE", help="rows for absent features")
    add("--data", type=Path, required=True, metavar="PATH", help="the rows to explain")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the results go")
    add("--config", type=Path, metavar="FILE", help="parameters of the explainer, TOML or JSON")
    add("--columns", nargs="+", metavar="NAME", help="columns of a model that knows no names")
    add("--keys", nargs="+", metavar="NAME", help="columns that tell rows apart")
    add("--batch-rows", type=_positive, metavar="N", help="rows a batch (4096; of documents 256)")
    add(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="what to do about rows that cannot be explained: end the run (raise, the default), or"
        " set them aside with their keys and errors",
    )
    add("--no-retry", action="store_true", help="leave rows alone that an earlier run set aside")
    add("--n-jobs", type=int, metavar="N", help="workers; -1 for all cores (default: one)")
    add("--random-state", type=int, metavar="N", help="seed (default: the configuration's, or 0)")
    add("--trust", nargs="+", default=[], metavar="TYPE", help="types that a .skops file may hold")
    add("--trust-pickle", action="store_true", help="load pickles: they may run any code")
    add("--quiet", action="store_true", help="show no progress")


def _status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help="what `skshapley explain` wrote"
    )


def _plot_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="what `skshapley explain` wrote")
    add("--kind", choices=sorted(DISPLAYS), required=True, help="the display")
    add("--out", type=Path, required=True, metavar="FILE", help="the picture: .png, .svg, .pdf ...")
    add("--output", metavar="LABEL", help="the output to show, where there are several")
    add("--row", type=int, metavar="N", help="the row to show, from 0, of those explained")
    add("--features", nargs="+", metavar="NAME", help="the features to show")
    add("--max-features", type=_positive, metavar="N", help="most features to show")
    add(
        "--max-rows",
        type=_positive,
        default=2000,
        metavar="N",
        help="rows to draw, evenly spread over all (%(default)s)",
    )
    add("--dpi", type=_dpi, default=150, metavar="N", help="dots per inch (%(default)s)")
    add("--overwrite", action="store_true", help="replace FILE where there is one")


def _report_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="what `skshapley explain` wrote")
    add("--out", type=Path, required=True, metavar="FILE", help="the page: report.html")
    add("--title", metavar="TEXT", help="the title (default: named after the model)")
    add(
        "--max-rows",
        type=_positive,
        default=1000,
        metavar="N",
        help="rows to show, evenly spread over all (%(default)s)",
    )
    add(
        "--max-features",
        type=_positive,
        default=50,
        metavar="N",
        help="features to show one by one; the others are summed (%(default)s)",
    )
    add("--overwrite", action="store_true", help="replace FILE where there is one")


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"a positive number, not {text!r}")
    return value


def _dpi(text: str) -> int:
    value = _positive(text)
    if value > MOST_DPI:
        raise argparse.ArgumentTypeError(f"at most {MOST_DPI}, not {text!r}")
    return value

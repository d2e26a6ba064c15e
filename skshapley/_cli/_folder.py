"""Commands that read a folder of explanations: ``skshapley status``, ``plot`` and ``report``."""

import inspect
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from skshapley._cli._status import FAILED, OK, UsageError, check_path
from skshapley._report import report_html
from skshapley._tools._files import write_whole
from skshapley._tools._params import needed
from skshapley.batches import ExplanationDataset
from skshapley.explanation import Explanation
from skshapley.plots import PlotAccessor

DPI = 150  # dots per inch of a picture; .svg and .pdf have none
# Methods of `explanation.plot`
KINDS = (
    "bar",
    "beeswarm",
    "decision",
    "dependence",
    "importance",
    "matrix",
    "waterfall",
)


def _opened(arguments: Namespace) -> ExplanationDataset:
    """Return the folder of explanations."""
    check_path(arguments.folder, "FOLDER", there=True)
    try:
        return ExplanationDataset(arguments.folder)
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error


def _check_out(arguments: Namespace) -> None:
    """Raise UsageError for an existing file, unless it may be replaced."""
    exists = None if arguments.overwrite else False
    hint = "choose another name, or pass --overwrite"
    check_path(arguments.out, "--out", exists, hint)


def _written(arguments: Namespace, write: Callable[[Any], object]) -> int:
    """Write a complete file, and print its path."""
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(arguments.out, write)
    sys.stdout.write(f"{arguments.out}\n")
    return OK


def run_status(arguments: Namespace) -> int:
    """Print the progress of a run, and name damaged or lost files."""
    dataset = _opened(arguments)
    wrong = dataset.check()
    for sentence in wrong:
        sys.stderr.write(f"skshapley: {sentence}\n")
    skipped = 0 if wrong else len(dataset.skipped())
    summary = f"{len(wrong)} damaged or lost"
    if not wrong:
        summary = f"{len(dataset)} rows explained, {skipped} set aside"
    state = "finished" if dataset.finished else "not finished"
    sys.stdout.write(f"{arguments.folder}: {state}, {summary}\n")
    return OK if dataset.finished and not (wrong or skipped) else FAILED


def run_plot(arguments: Namespace) -> int:
    """Draw a folder of explanations into a file."""
    mpl = needed("matplotlib", "skshapley plot")
    _check_out(arguments)
    options = _options(arguments)
    dataset = _opened(arguments)
    row = options.get("row")
    if row is None and arguments.kind == "waterfall" and len(dataset) != 1:
        raise UsageError(
            f"--kind {arguments.kind} shows one row of the {len(dataset)} in"
            f" {str(arguments.folder)!r}: pass --row N, from 0 to {len(dataset) - 1}."
        )
    if row is None:
        explanation = dataset.read(arguments.max_rows)
    else:
        explanation, options["row"] = dataset.take([row]), 0
    if "output" in options:
        options["output"] = _label(explanation, options["output"])
    mpl.use("Agg")  # no window opens
    figure = getattr(explanation.plot, arguments.kind)(**options).figure_
    kind = arguments.out.suffix[1:] or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise UsageError(
            f"--out {str(arguments.out)!r} has a suffix that matplotlib cannot write: "
            f"choose one of {sorted(figure.canvas.get_supported_filetypes())}."
        )
    return _written(
        arguments,
        lambda file: figure.savefig(file, format=kind, dpi=DPI, bbox_inches="tight"),
    )


def _options(arguments: Namespace) -> dict[str, Any]:
    """Return the given options, if the display takes them."""
    accepted = inspect.signature(getattr(PlotAccessor, arguments.kind)).parameters
    options = {
        name: getattr(arguments, name)
        for name in ("row", "output", "features", "max_features")
        if getattr(arguments, name) is not None
    }
    for name in options:
        if name not in accepted:
            raise UsageError(
                f"--kind {arguments.kind} takes no --{name.replace('_', '-')}."
            )
    return options


def _label(explanation: Explanation, text: str) -> object:
    """Return the output with a given label as text."""
    names = (
        [] if explanation.output_names is None else explanation.output_names.tolist()
    )
    for name in names:
        # Labels may be numbers, but an argument is always text.
        if str(name) == text:
            return name
    raise UsageError(f"--output {text!r} is not one of the outputs: {names}.")


def run_report(arguments: Namespace) -> int:
    """Write the report of a folder of explanations."""
    _check_out(arguments)
    dataset = _opened(arguments)
    text = report_html(
        dataset.read(arguments.max_rows),
        title=arguments.title,
        max_features=arguments.max_features,
        n_rows=len(dataset),
    )
    return _written(arguments, lambda file: file.write(text.encode("utf-8", "replace")))

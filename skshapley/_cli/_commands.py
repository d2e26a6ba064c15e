"""The commands: explain rows of files into a folder, and read such a folder."""

import inspect
import json
import sys
import tomllib
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._report import report_html
from skshapley._tables import model_columns
from skshapley._tools import needed, write_whole
from skshapley.batches import ExplanationDataset, explain_batches
from skshapley.batches._file_sources import read_csv, read_sparse
from skshapley.batches._run import opened
from skshapley.explanation import Explanation
from skshapley.plots import PlotAccessor
from skshapley.rewards import REWARDS
from skshapley.samplers import SAMPLERS
from skshapley.solvers import SOLVERS
from skshapley.stopping import StandardError

# argparse itself ends with 2 for invalid arguments.
OK = 0
FAILED = 1
USAGE = 2
COMPONENTS: dict[str, dict] = {
    "sampler": SAMPLERS,
    "solver": SOLVERS,
    "reward": REWARDS,
}


class UsageError(Exception):
    """Error of an invalid command."""


def check_path(
    path: Path,
    option: str,
    there: bool | None = None,
    hint: str = "",
) -> None:
    """Raise UsageError for an unusable path.

    Parameters
    ----------
    path : Path
    option : str
    there : bool or None, default=None
        Whether the path must exist or must not exist. None: either.
    hint : str, default=""
        The remedy if the path exists.

    Raises
    ------
    UsageError
        Also if the path is inaccessible.
    """
    try:
        path.lstat()  # a broken link exists as well
    except FileNotFoundError:
        if there:
            raise UsageError(
                f"{option} {str(path)!r} does not exist: give an existing path.",
            ) from None
    except (OSError, ValueError) as error:  # too long, below a file, with a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{option} {str(path)!r} is not a valid path: {reason}.",
        ) from error
    else:
        if there is False:
            raise UsageError(f"{option} {str(path)!r} exists; {hint}.")


def run_explain(arguments: Namespace) -> int:
    """Explain a table into a folder."""
    check_path(arguments.out, "--out")
    check_path(arguments.data, "--data", there=True)
    model = load_model(arguments.model, arguments.trust, arguments.trust_pickle)
    columns = arguments.columns or model_columns(model)
    keys = arguments.keys or []
    parameters = read_config(arguments.config) if arguments.config else {}
    # A repeated command continues its folder only with the same seed, so there is a
    # fixed default.
    parameters.setdefault("random_state", 0)
    for name in ("random_state", "n_jobs"):
        if getattr(arguments, name) is not None:
            parameters[name] = getattr(arguments, name)
    background = _background(arguments.background, columns, keys)
    try:
        explainer = ShapleyExplainer(model, **parameters).fit(background)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    try:
        # Wrong columns are reported before hours of work, with the name of the option.
        opened(explainer, arguments.data, keys=keys)
    except (ValueError, OSError, RuntimeError) as error:
        raise UsageError(
            f"--data {str(arguments.data)!r} cannot be used: {error}"
        ) from error
    with warnings.catch_warnings():
        # reported below, and by the exit status
        warnings.filterwarnings(
            "ignore",
            "explain_batches set .* rows aside",
            UserWarning,
        )
        dataset = explain_batches(
            explainer,
            arguments.data,
            arguments.out,
            batch_rows=arguments.batch_rows,
            keys=keys,
            on_error=arguments.on_error,
            verbose=not arguments.quiet,
        )
    skipped = len(dataset.skipped())
    sys.stdout.write(
        f"{arguments.out}: {len(dataset)} rows explained, {skipped} set aside\n"
    )
    return FAILED if skipped else OK


def load_model(
    path: Path,
    trust: Sequence[str] = (),
    trust_pickle: bool = False,
) -> Any:
    """Return the model of a file, if its types are trusted.

    Raises
    ------
    UsageError
        If the file does not exist, or contains untrusted types.
    """
    check_path(path, "--model", there=True)
    if path.suffix.lower() != ".skops":
        if not trust_pickle:
            raise UsageError(
                f"--model {str(path)!r} is not a .skops file, and loading a pickle can "
                "run any code. Pass --trust-pickle if you trust its source."
            )
        import joblib

        with _readable(path, "--model"):
            return joblib.load(path)
    skops = needed("skops.io", "A .skops model", "skops")
    with _readable(path, "--model"):
        # Types are compared before loading, which is when code could run.
        unknown = sorted(set(skops.get_untrusted_types(file=path)) - set(trust))
    if unknown:
        raise UsageError(
            f"--model {str(path)!r} contains untrusted types: {', '.join(unknown)}. If "
            f"you trust its source, pass --trust {' '.join([*trust, *unknown])}"
        )
    with _readable(path, "--model"):
        return skops.load(path, trusted=list(trust))


@contextmanager
def _readable(path: Path, option: str) -> Iterator[None]:
    """Raise UsageError if a file cannot be read; broken files raise errors of any kind."""
    try:
        yield
    except Exception as error:
        # One line: errors of libraries may be pages long.
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise UsageError(f"{option} {str(path)!r} cannot be read: {reason}") from error


def _background(path: Path, columns: list[str] | None, keys: list[str]) -> Any:
    """Return the background as a DataFrame of the relevant columns, or a sparse matrix."""
    check_path(path, "--background", there=True)
    with _readable(path, "--background"):
        if path.suffix.lower() == ".npz":
            return read_sparse(path)
        frame = (
            read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
        )
    lacking = [name for name in columns or () if name not in frame.columns]
    if lacking:
        raise UsageError(
            f"--background {str(path)!r} lacks the columns {lacking}: it has "
            f"{list(frame.columns)}."
        )
    # Keys identify rows and are no features, but the background may lack them.
    return frame[columns] if columns else frame.drop(columns=keys, errors="ignore")


def read_config(path: Path) -> dict:
    """Return the parameters of a ShapleyExplainer that a TOML or JSON file names.

    Raises
    ------
    UsageError
        For another kind of file, text that cannot be parsed, or unknown parameters.
    """
    parsers = {".toml": tomllib.loads, ".json": json.loads}
    check_path(path, "--config")
    if path.suffix.lower() not in parsers or not path.exists():
        raise UsageError(
            f"--config takes a .toml or .json file that exists; got {str(path)!r}."
        )
    try:
        config = parsers[path.suffix.lower()](path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(
            f"--config {str(path)!r} cannot be parsed: {error}."
        ) from error
    choices = sorted(
        set(ShapleyExplainer._get_param_names())
        - {"estimator", "background", "verbose"}
    )
    unknown = (
        sorted(set(config) - set(choices)) if isinstance(config, dict) else [config]
    )
    if unknown:
        raise UsageError(
            f"--config {str(path)!r} names the parameters {unknown}, which "
            f"ShapleyExplainer does not take: choose among {choices}."
        )
    return {name: _component(name, value) for name, value in config.items()}


def _component(name: str, value: Any) -> object:
    """Return the object described by a table of the configuration."""
    if not isinstance(value, dict) or name not in (*COMPONENTS, "stopping"):
        return value
    parameters = dict(value)
    if name == "stopping":
        component = StandardError
    else:
        label = parameters.pop("name", None)
        if label not in COMPONENTS[name]:
            raise UsageError(
                f"--config has no {name} named {label!r}: choose one of"
                f" {sorted(COMPONENTS[name])}."
            )
        component = COMPONENTS[name][label]
    try:
        return component(**parameters)
    except TypeError as error:
        raise UsageError(
            f"--config does not fit {component.__name__}: {error}."
        ) from error


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
    check_path(
        arguments.out,
        "--out",
        exists,
        "choose another name, or pass --overwrite",
    )


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
    summary = (
        f"{len(wrong)} damaged or lost"
        if wrong
        else f"{len(dataset)} rows explained, {skipped} set aside"
    )
    state = "finished" if dataset.finished else "not finished"
    sys.stdout.write(f"{arguments.folder}: {state}, {summary}\n")
    return OK if dataset.finished and not (wrong or skipped) else FAILED


def run_plot(arguments: Namespace) -> int:
    """Draw a folder of explanations into a file."""
    mpl = needed("matplotlib", "skshapley plot")
    _check_out(arguments)
    options = {
        name: getattr(arguments, name)
        for name in ("row", "output", "features", "max_features")
        if getattr(arguments, name) is not None
    }
    accepted = inspect.signature(getattr(PlotAccessor, arguments.kind)).parameters
    for name in options:
        if name not in accepted:
            raise UsageError(
                f"--kind {arguments.kind} takes no --{name.replace('_', '-')}.",
            )
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
        explanation = dataset.take([row])
        options["row"] = 0
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

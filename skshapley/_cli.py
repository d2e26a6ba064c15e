"""The command line: ``skshapley explain`` and ``skshapley plot``."""

import argparse
import inspect
import json
import sys
import tomllib
import warnings
from pathlib import Path

import pandas as pd

import skshapley
from skshapley import plots
from skshapley._explainer import ShapleyExplainer
from skshapley.batches import ExplanationDataset, explain_batches
from skshapley.batches._files import write_whole
from skshapley.exceptions import PartialExplanationError
from skshapley.rewards import REWARDS
from skshapley.samplers import SAMPLERS
from skshapley.solvers import SOLVERS
from skshapley.stopping import StandardError

OK, FAILED, USAGE = 0, 1, 2

DISPLAYS: dict[str, type[plots.Display]] = {
    "bar": plots.BarDisplay,
    "beeswarm": plots.BeeswarmDisplay,
    "decision": plots.DecisionDisplay,
    "dependence": plots.DependenceDisplay,
    "force": plots.ForceDisplay,
    "matrix": plots.MatrixDisplay,
    "waterfall": plots.WaterfallDisplay,
}
COMPONENTS: dict[str, dict] = {"sampler": SAMPLERS, "solver": SOLVERS, "reward": REWARDS}

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
  skshapley plot phi/ --kind beeswarm --out beeswarm.png

Each command has a manual of its own: skshapley explain --help, skshapley plot --help.

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
  command, given again after a crash, goes on where it stopped, and ends with the same bits.

configuration:
  Parameters of skshapley.ShapleyExplainer as TOML or JSON, for instance

    max_evals = 500
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

PLOT_MANUAL = f"""\
examples:
  skshapley plot phi/ --kind beeswarm --out beeswarm.png
  skshapley plot phi/ --kind waterfall --row 12 --output setosa --out row12.svg
  skshapley plot phi/ --kind dependence --features age income --out dependence.pdf

{CODES}"""


class UsageError(Exception):
    """The command cannot be carried out as it was given."""


def main(argv=None) -> int:
    """Carry out a command line and return its exit status.

    Parameters
    ----------
    argv : list of str, default=None
        None: the arguments of the process.
    """
    arguments = _parser().parse_args(argv)
    try:
        return arguments.command(arguments)
    except UsageError as error:
        return _told(error, USAGE)
    except (KeyboardInterrupt, PartialExplanationError):
        return _told("interrupted; the same command goes on from here", FAILED)
    except (ValueError, TypeError, IndexError, OSError, RuntimeError, ImportError) as error:
        return _told(error, FAILED)


def _told(error, status):
    sys.stderr.write(f"skshapley: {error}\n")
    return status


# --- explain -------------------------------------------------------------------------------------


def _explain(arguments):
    """Explain a table into a folder."""
    model = load_model(arguments.model, arguments.trust, arguments.trust_pickle)
    columns = arguments.columns or _known_columns(model)
    keys = arguments.keys or []
    parameters = read_config(arguments.config) if arguments.config else {}
    parameters.setdefault("random_state", 0)
    for name in ("random_state", "n_jobs"):
        if getattr(arguments, name) is not None:
            parameters[name] = getattr(arguments, name)
    if not arguments.data.exists():
        raise UsageError(f"--data {str(arguments.data)!r} does not exist.")
    background = _background(arguments.background, columns, keys)
    explainer = ShapleyExplainer(model, **parameters).fit(background)
    with warnings.catch_warnings():
        # told below, and by the exit status
        warnings.filterwarnings("ignore", "explain_batches set .* rows aside", UserWarning)
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
    sys.stdout.write(f"{arguments.out}: {len(dataset)} rows explained, {skipped} set aside\n")
    return FAILED if skipped else OK


def load_model(path: Path, trust=(), trust_pickle=False):
    """Return the model of a file, if its types are trusted.

    Raises
    ------
    UsageError
        If there is no such file, or it holds types that were not named.
    """
    if not path.exists():
        raise UsageError(f"--model {str(path)!r} does not exist.")
    if path.suffix.lower() != ".skops":
        if not trust_pickle:
            raise UsageError(
                f"--model {str(path)!r} is no .skops file: loading a pickle runs whatever code is"
                f" in it. Pass --trust-pickle if you know where it comes from."
            )
        import joblib

        return joblib.load(path)
    try:
        import skops.io
    except ImportError as error:
        raise UsageError(
            "A .skops model needs skops; install it with: pip install 'skshapley[skops]'."
        ) from error
    unknown = sorted(set(skops.io.get_untrusted_types(file=path)) - set(trust))
    if unknown:
        raise UsageError(
            f"--model {str(path)!r} holds types that are not trusted: {', '.join(unknown)}. If you"
            f" know where it comes from, pass --trust {' '.join([*trust, *unknown])}"
        )
    return skops.io.load(path, trusted=list(trust))


def _known_columns(model):
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def _background(path, columns, keys):
    """Return the background as a DataFrame of the columns that count."""
    if not path.exists():
        raise UsageError(f"--background {str(path)!r} does not exist.")
    frame = pd.read_csv(path) if path.suffix.lower() == ".csv" else pd.read_parquet(path)
    lacking = [name for name in columns or () if name not in frame.columns]
    if lacking:
        raise UsageError(
            f"--background {str(path)!r} lacks the columns {lacking}: it has {list(frame.columns)}."
        )
    return frame[columns] if columns else frame.drop(columns=keys, errors="ignore")


def read_config(path: Path) -> dict:
    """Return the parameters of a ShapleyExplainer that a TOML or JSON file names.

    Raises
    ------
    UsageError
        For another kind of file, text that cannot be parsed, or parameters that there are not.
    """
    parsers = {".toml": tomllib.loads, ".json": json.loads}
    if path.suffix.lower() not in parsers or not path.exists():
        raise UsageError(f"--config takes a .toml or .json file that exists; got {str(path)!r}.")
    try:
        config = parsers[path.suffix.lower()](path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"--config {str(path)!r} cannot be parsed: {error}.") from error
    choices = sorted(set(ShapleyExplainer._get_param_names()) - {"estimator", "verbose"})
    unknown = sorted(set(config) - set(choices)) if isinstance(config, dict) else [config]
    if unknown:
        raise UsageError(
            f"--config {str(path)!r} names the parameters {unknown}, which ShapleyExplainer does"
            f" not take: choose among {choices}."
        )
    return {name: _component(name, value) for name, value in config.items()}


def _component(name, value):
    """Return a table of the configuration as the object that it describes."""
    if not isinstance(value, dict) or name not in (*COMPONENTS, "stopping"):
        return value
    parameters = dict(value)
    if name == "stopping":
        made = StandardError
    else:
        chosen = parameters.pop("name", None)
        if chosen not in COMPONENTS[name]:
            raise UsageError(
                f"--config has no {name} named {chosen!r}: choose one of"
                f" {sorted(COMPONENTS[name])}."
            )
        made = COMPONENTS[name][chosen]
    try:
        return made(**parameters)
    except TypeError as error:
        raise UsageError(f"--config does not fit {made.__name__}: {error}.") from error


# --- plot ----------------------------------------------------------------------------------------


def _plot(arguments):
    """Draw a folder of explanations into a file."""
    import matplotlib as mpl

    display = DISPLAYS[arguments.kind]
    options = _options(arguments, display)
    try:
        dataset = ExplanationDataset(arguments.folder)
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error
    row = options.get("row")
    if row is None:
        explanation = dataset.read(arguments.max_rows)
    else:
        explanation, options["row"] = dataset.take([row]), 0
    if "output" in options:
        options["output"] = _label(explanation, options["output"])
    mpl.use("Agg")  # no window opens
    figure = display.from_explanation(explanation, **options).figure_
    kind = arguments.out.suffix[1:] or "png"
    if kind not in figure.canvas.get_supported_filetypes():
        raise UsageError(
            f"--out {str(arguments.out)!r} has a suffix that matplotlib cannot write: choose one of"
            f" {sorted(figure.canvas.get_supported_filetypes())}."
        )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(
        arguments.out,
        lambda file: figure.savefig(file, format=kind, dpi=arguments.dpi, bbox_inches="tight"),
    )
    sys.stdout.write(f"{arguments.out}\n")
    return OK


def _options(arguments, display):
    """Return the options that were given, if the display takes them."""
    taken = inspect.signature(display.from_explanation).parameters
    options = {
        name: getattr(arguments, name)
        for name in ("row", "output", "features", "max_features")
        if getattr(arguments, name) is not None
    }
    for name in options:
        if name not in taken:
            raise UsageError(f"--kind {arguments.kind} takes no --{name.replace('_', '-')}.")
    return options


def _label(explanation, text):
    """Return the output whose label reads like the text."""
    names = [] if explanation.output_names is None else explanation.output_names.tolist()
    for name in names:
        if str(name) == text:
            return name
    raise UsageError(f"--output {text!r} is none of the outputs: {names}.")


# --- the words -----------------------------------------------------------------------------------


def _parser():
    parser = argparse.ArgumentParser(
        "skshapley",
        description=ABOUT,
        epilog=MANUAL,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=skshapley.__version__)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, about, manual, arguments, command in (
        ("explain", "explain a table into a folder", EXPLAIN_MANUAL, _explain_arguments, _explain),
        ("plot", "draw a folder of explanations", PLOT_MANUAL, _plot_arguments, _plot),
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


def _explain_arguments(parser):
    add = parser.add_argument
    add("--model", type=Path, required=True, metavar="FILE", help="the fitted model")
    add("--background", type=Path, required=True, metavar="FILE", help="rows for absent features")
    add("--data", type=Path, required=True, metavar="PATH", help="the rows to explain")
    add("--out", type=Path, required=True, metavar="FOLDER", help="where the results go")
    add("--config", type=Path, metavar="FILE", help="parameters of the explainer, TOML or JSON")
    add("--columns", nargs="+", metavar="NAME", help="columns of a model that knows no names")
    add("--keys", nargs="+", metavar="NAME", help="columns that tell rows apart")
    add(
        "--batch-rows", type=_positive, default=4096, metavar="N", help="rows a batch (%(default)s)"
    )
    add(
        "--on-error",
        choices=("raise", "skip"),
        default="raise",
        help="what to do about rows that cannot be explained: end the run (raise, the default), or"
        " set them aside in the files _skipped-*.json with their keys and errors",
    )
    add("--n-jobs", type=int, metavar="N", help="workers; -1 for all cores (default: one)")
    add("--random-state", type=int, metavar="N", help="seed (default: the configuration's, or 0)")
    add("--trust", nargs="+", default=[], metavar="TYPE", help="types that a .skops file may hold")
    add("--trust-pickle", action="store_true", help="load pickles: they may run any code")
    add("--quiet", action="store_true", help="show no progress")


def _plot_arguments(parser):
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
    add("--dpi", type=_positive, default=150, metavar="N", help="dots per inch (%(default)s)")


def _positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"a positive number, not {text!r}")
    return value

"""The rules of the house, executed: each rule is a function from a source file to complaints.

Every rule is also shown a file that breaks it, so that none can go silent unnoticed.
"""

import ast
import importlib
import inspect
import json
import re
import runpy
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

import skshapley

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "skshapley"
SIZE = runpy.run_path(str(ROOT / "tools" / "size.py"))  # counts that are rules, too
circles = SIZE["circles"]

# What may import what: a module imports from its own layer and from those above it in
# this list. A name stands for a module or a whole subpackage.
LAYERS = (
    {"_tools", "exceptions", "responses", "constraints"},
    {
        "_tables",
        "_references",
        "_inference",
        "designs",
        "indices",
        "_process",
        "_trees",
        "closed_forms",
        "readers",
    },
    {"explanation", "_records", "comparison"},
    {"rewards", "samplers", "solvers", "stopping"},
    {"_run"},
    {"_ways"},
    {"_estimators", "trees"},
    {
        "background",
        "groups",
        "plots",
        "testing",
        "diagnostics",
        "bounds",
        "batches",
        "distributed",
        "shapiq",
    },
    {"_what_if"},
    {"_report"},
    {"__init__", "_cli", "__main__"},
)
# The roles of one layer that know nothing of each other, so that any of them can be
# replaced.
INDEPENDENT = {"rewards", "samplers", "solvers", "stopping"}
# Rooms with an `__init__` that lists all names for other rooms.
LISTED = ("_tools", "_tables")

# Never loaded by `import skshapley`, whoever imports them.
HEAVY = {
    *(
        "matplotlib",
        "xgboost",
        "lightgbm",
        "catboost",
        "shap",
        "shapiq",
        "dask",
        "distributed",
    ),
    *(
        "polars",
        "networkx",
        "skops",
        "torch",
        "IPython",
        "pandas.plotting._matplotlib",
    ),
    *("duckdb", "pyspark", "ray"),
}
# Never loaded beyond what `DEPENDENCIES` load by themselves (scikit-learn 1.9 brings
# scipy.stats). Ruff (TID253) sees to it that no file imports them by itself.
HEAVY_UNLESS_THERE = {"scipy.stats", "tqdm", "pyarrow"}
DEPENDENCIES = (
    "joblib, pandas, scipy.linalg, scipy.special, sklearn.pipeline, "
    "sklearn.utils.parallel"
)

MAX_CODE_LINES = 400
MAX_FUNCTION_LINES = 80

# The places that may make random generators; everything else is handed one.
SEED_KEEPERS = {"_tools._random", "testing"}
RANDOM_TYPES = {"Generator", "BitGenerator", "SeedSequence", "RandomState"}
SEEDERS = {"default_rng", "SeedSequence", "RandomState", "check_random_state"}

# A docstring's first line names the thing: a verb and a noun of the field.
NOT_PLAIN = re.compile(
    r"(?i:\b(what|who|whose|whoever|why|told|of which|those of|those that|but for|be it|refuse|"
    r"anew|in place of|of (its|their) own|as they are|so many|handed|dealt|walks?|hybrids?)\b)|"
    r"\bis none\b"
)

# A comment names its subject, and a test the tested behaviour.
NOT_PLAIN_COMMENT = re.compile(
    r"#+ (?i:of|whose|in which|of which)\b|(?i:\b(whoever|told|but for|be it|nobody)\b)"
)
NOT_PLAIN_TEST = re.compile(
    r"_(what|who|whose|whoever|told|nobody|somebody|anew|company|walks?|hybrids?)_"
)

# Fields with vague names that users know, by room: `Explanation.others`
PUBLIC_FIELDS = {("_records", "others")}

FRAGMENT = re.compile(r"\d+\.[a-z0-9-]+\.(feature|change|fix|doc)\.md")


@dataclass(frozen=True)
class Source:
    """One file of the package: its dotted name, text and syntax tree."""

    name: str  # "skshapley.samplers._base"
    text: str
    is_package: bool = False

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        """The name under which LAYERS knows this file."""
        return room(self.name)


def room(module: str) -> str:
    """The part of a dotted name that LAYERS knows: skshapley.samplers._base -> samplers."""
    return [*module.split("."), "__init__"][1]


@cache
def package_sources() -> list[Source]:
    sources = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        sources.append(Source(name, path.read_text(encoding="utf-8"), is_package))
    return sources


# --- the rules ------------------------------------------------------------------------


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Yield line and absolute name of every import of skshapley in a file.

    Imports inside functions and for type checkers count too: a reader needs to know
    them.
    """
    home = source.name.split(".") if source.is_package else source.name.split(".")[:-1]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            # `from skshapley import samplers` imports a module, not a name of the root.
            whole = module == "skshapley"
            found = [
                f"{module}.{alias.name}" if whole else module for alias in node.names
            ]
        else:
            continue
        yield from (
            (node.lineno, name) for name in found if name.split(".")[0] == "skshapley"
        )


def imports_run_downward(source: Source) -> Iterator[str]:
    floor = {name: depth for depth, names in enumerate(LAYERS) for name in names}
    if source.room not in floor:
        yield f"{source.name}: in no layer; give {source.room!r} its place in LAYERS"
        return
    for line, module in imported_modules(source):
        target = room(module) if room(module) in floor else "__init__"
        if floor[target] > floor[source.room]:
            yield f"{source.name}:{line} imports {module}, which stands above it"
        elif target != source.room and {target, source.room} <= INDEPENDENT:
            yield f"{source.name}:{line} imports {module}: the roles do not know each other"


def imports_listed_names(source: Source) -> Iterator[str]:
    """Other rooms import from the `__init__` of a listed room, not from its files."""
    for line, module in imported_modules(source):
        inside = module.split(".")[2:]
        if inside and room(module) in LISTED and room(module) != source.room:
            yield f"{source.name}:{line} imports {module}; import from {room(module)}"


def unused_names_of_listed_rooms(sources: list[Source]) -> list[str]:
    """Return the listed names that no other room imports."""
    names = {}
    for source in sources:
        if source.is_package and source.room in LISTED:
            module = importlib.import_module(source.name)
            names |= {(source.room, name): False for name in module.__all__}
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                target = room(node.module)
                if target in LISTED and target != source.room:
                    used = {(target, alias.name) for alias in node.names}
                    names |= dict.fromkeys(used, True)
    return [".".join(name) for name, is_used in names.items() if not is_used]


def room_graph(sources: list[Source]) -> dict[str, set[str]]:
    """Which rooms each room imports from."""
    graph: dict[str, set[str]] = {source.room: set() for source in sources}
    for source in sources:
        for _, module in imported_modules(source):
            target = room(module) if room(module) in graph else "__init__"
            graph[source.room] |= {target} - {source.room}
    return graph


def drawn(graph: dict[str, set[str]]) -> str:
    """The rooms floor by floor, the lowest first, each with the rooms that it imports from."""
    lines = []
    for depth, names in enumerate(LAYERS):
        lines.append(f"floor {depth}")
        lines += [
            f"    {name} > {', '.join(sorted(graph[name])) or '-'}"
            for name in sorted(names & set(graph))
        ]
    return "\n".join(lines)


def no_assert(source: Source) -> Iterator[str]:
    """An assert is gone under `python -O`; errors are raised (testing/ asserts by trade)."""
    if source.room == "testing":
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assert):
            yield f"{source.name}:{node.lineno} asserts; raise an error that says what was wrong"


def code_lines(source: Source) -> set[int]:
    """The lines that hold code: not blank, not a comment, not a docstring."""
    silent = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(StringIO(source.text).readline):
        if token.type not in silent | {tokenize.ENDMARKER}:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(source.tree):
        # A string that stands alone as a statement is a docstring.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return lines


def short_enough(source: Source) -> Iterator[str]:
    lines = code_lines(source)
    if len(lines) > MAX_CODE_LINES:
        yield f"{source.name}: {len(lines)} lines of code, more than {MAX_CODE_LINES}; split it"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = len(lines & set(range(node.lineno, node.end_lineno + 1)))
            if length > MAX_FUNCTION_LINES:
                yield (
                    f"{source.name}:{node.lineno} {node.name} has {length} lines of "
                    f"code, more than {MAX_FUNCTION_LINES}; split it"
                )


def no_hidden_randomness(source: Source) -> Iterator[str]:
    """No global random state anywhere; generators are made in one place and passed on."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Attribute(
                value=ast.Attribute(value=ast.Name(id=numpy), attr="random")
            ):
                drawn = (
                    numpy in {"np", "numpy"} and node.attr not in RANDOM_TYPES | SEEDERS
                )
                if drawn and not node.attr.startswith(("PCG64", "Philox", "SFC64")):
                    yield f"{source.name}:{node.lineno} uses the global np.random.{node.attr}"
            case ast.Import(names=names) if any(
                name.name == "random" for name in names
            ):
                yield f"{source.name}:{node.lineno} imports the global random module"
            case ast.ImportFrom(module="random"):
                yield f"{source.name}:{node.lineno} imports from the global random module"
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if (
                name in SEEDERS
            ):
                if not source.name.removeprefix("skshapley.").startswith(
                    tuple(SEED_KEEPERS)
                ):
                    yield (
                        f"{source.name}:{node.lineno} calls {name}: seeds are touched "
                        "in _random.py only; take a Generator as an argument"
                    )


def first_lines_are_plain(source: Source) -> Iterator[str]:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(source.tree):
        if isinstance(node, documented) and (docstring := ast.get_docstring(node)):
            first = docstring.splitlines()[0]
            if found := NOT_PLAIN.search(first):
                yield (
                    f"{source.name}:{node.body[0].lineno} begins with {first!r}: write "
                    f"a verb and a noun of the field instead of {found[0]!r}"
                )


def comments_are_plain(source: Source) -> Iterator[str]:
    above = ["", *source.text.splitlines()]
    for token in tokenize.generate_tokens(StringIO(source.text).readline):
        line = token.start[0]
        if token.type != tokenize.COMMENT or above[line - 1].lstrip().startswith("#"):
            continue  # the rule is for the first line of a comment
        if found := NOT_PLAIN_COMMENT.search(token.string):
            yield (
                f"{source.name}:{line} has the comment {token.string!r}: name its "
                f"subject instead of {found[0]!r}"
            )


def names_say_what_is_held(source: Source) -> Iterator[str]:
    for node in SIZE["vague_names"](source.tree):
        if (source.room, node.id) in PUBLIC_FIELDS:
            continue
        yield (
            f"{source.name}:{node.lineno} assigns to {node.id!r}: name the variable by "
            "a noun of the field"
        )


RULES: list[Callable[[Source], Iterator[str]]] = [
    imports_run_downward,
    imports_listed_names,
    no_assert,
    short_enough,
    no_hidden_randomness,
    first_lines_are_plain,
    comments_are_plain,
    names_say_what_is_held,
]


@pytest.mark.parametrize("rule", RULES)
def test_package_follows_rule(rule):
    complaints = [
        complaint for source in package_sources() for complaint in rule(source)
    ]
    assert not complaints, "\n" + "\n".join(complaints)


DOCUMENTED_FOLDERS = ("tests", "benchmarks", "tools", "examples", "doc/extending")


@pytest.mark.parametrize("folder", DOCUMENTED_FOLDERS)
def test_first_lines_of_other_files_are_plain(folder):
    complaints = [
        complaint
        for path in sorted((ROOT / folder).rglob("*.py"))
        for complaint in first_lines_are_plain(
            Source(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        )
    ]
    assert not complaints, "\n" + "\n".join(complaints)


def unclear_names(text: str) -> list[str]:
    """Return the names of tests that do not name the tested behaviour."""
    return [
        name
        for name in re.findall(r"def (test_\w+)\(", text)
        if NOT_PLAIN_TEST.search(name)
    ]


def test_names_of_tests_are_plain():
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    found = [
        name
        for path in paths
        for name in unclear_names(path.read_text(encoding="utf-8"))
    ]
    assert not found, f"name the tested behaviour, subject first, in {found}"


def test_unclear_names_are_found():
    text = (
        "def test_"
        "what_is_left():\n    pass\n\n\ndef test_somewhat_larger():\n    pass\n"
    )
    assert unclear_names(text) == ["test_" + "what_is_left"]


def test_rooms_have_no_import_cycles():
    graph = room_graph(package_sources())
    assert not circles(graph), f"circles {circles(graph)} in\n{drawn(graph)}"


def test_listed_names_are_used_by_other_rooms():
    assert not unused_names_of_listed_rooms(package_sources())


def test_unused_listed_names_are_found():
    sources = [
        Source("skshapley._tables", "", is_package=True),
        Source("skshapley.designs", "from skshapley._tables import n_rows"),
    ]
    unused = unused_names_of_listed_rooms(sources)
    assert "_tables.take_rows" in unused
    assert "_tables.n_rows" not in unused


def test_files_have_no_import_cycles():
    graph = SIZE["file_graph"](
        {source.name: source.text for source in package_sources()}
    )
    rings = circles(graph)
    assert not rings, f"files that import each other: {rings}"


def test_usual_explanations_stay_short_roads():
    """Files entered, and calls of the package inside each other."""
    pytest.importorskip("xgboost")
    limits = {"a perceptron": (30, 15), "boosted trees": (12, 12)}
    for model, story in SIZE["stories"]().items():
        n_files, levels = limits[model]
        assert len(story.files) <= n_files, (model, story.files)
        assert story.levels <= levels, (model, story.levels)


def test_circle_rule_sees_files_of_one_room():
    texts = {
        "skshapley.plots._bar": "from skshapley.plots import _style",
        "skshapley.plots._style": (
            "if TYPE_CHECKING:\n    from skshapley.plots._bar import BarDisplay"
        ),
        "skshapley.plots": "from skshapley.plots._bar import BarDisplay",
    }
    rings = circles(SIZE["file_graph"](texts))
    assert rings == [["skshapley.plots._bar", "skshapley.plots._style"]]


def test_circle_rule_sees_type_imports():
    graph = room_graph(
        [
            Source(
                "skshapley.plots._bar", "from skshapley.explanation import Explanation"
            ),
            Source(
                "skshapley.explanation",
                "if TYPE_CHECKING:\n    from skshapley.plots import BarDisplay",
            ),
            Source("skshapley.designs", "import skshapley._tools._random"),
            Source("skshapley._tools._random", ""),
        ]
    )
    assert circles(graph) == [["explanation", "plots"]]
    assert "designs > _tools" in drawn(graph)


BROKEN = {
    "imports upward": (
        imports_run_downward,
        "designs",
        "from skshapley._run._engine import run",
    ),
    "imports upward, relative": (
        imports_run_downward,
        "designs",
        "from . import explanation, plots",
    ),
    "imports upward, inside a function": (
        imports_run_downward,
        "explanation",
        "def plot():\n    import skshapley.plots",
    ),
    "imports upward, for types": (
        imports_run_downward,
        "designs",
        "if TYPE_CHECKING:\n    from skshapley import plots",
    ),
    "imports the root": (
        imports_run_downward,
        "_run._engine",
        "from skshapley import __version__",
    ),
    "imports another role": (
        imports_run_downward,
        "samplers._marginal",
        "from ..solvers._mean import Mean",
    ),
    "imports another role through the root": (
        imports_run_downward,
        "stopping",
        "from skshapley import solvers",
    ),
    "has no layer": (imports_run_downward, "misc", ""),
    "imports from a file of a listed room": (
        imports_listed_names,
        "designs",
        "from skshapley._tools._random import generator",
    ),
    "asserts": (no_assert, "_run._engine", "assert 1 > 0, 'never'"),
    "is too long": (short_enough, "_run._engine", "x = 1\n" * (MAX_CODE_LINES + 1)),
    "has a long function": (
        short_enough,
        "_run._engine",
        "def f():\n" + "    x = 1\n" * MAX_FUNCTION_LINES,
    ),
    "draws globally": (no_hidden_randomness, "_tools._random", "x = np.random.rand(3)"),
    "seeds globally": (no_hidden_randomness, "testing.games", "numpy.random.seed(0)"),
    "uses random": (no_hidden_randomness, "_tools._random", "import math, random"),
    "uses random's names": (
        no_hidden_randomness,
        "_tools._random",
        "from random import shuffle",
    ),
    "makes a generator": (
        no_hidden_randomness,
        "_run._engine",
        "rng = np.random.default_rng(0)",
    ),
    "makes a seed": (
        no_hidden_randomness,
        "samplers._marginal",
        "SeedSequence(1).spawn(2)",
    ),
    "checks a random state": (
        no_hidden_randomness,
        "rewards",
        "rng = check_random_state(None)",
    ),
    "says what it holds": (first_lines_are_plain, "designs", '"""What a design is."""'),
    "has a class told something": (
        first_lines_are_plain,
        "designs",
        (
            'class Design:\n    """Coalitions, of which some are told.\n\n    More.\n    '
            '"""'
        ),
    ),
    "returns what is asked": (
        first_lines_are_plain,
        "designs",
        'class A:\n    def f(self):\n        """Return what was asked."""',
    ),
    "names a walk": (first_lines_are_plain, "designs", '"""Designs of walks."""'),
    "refuses": (first_lines_are_plain, "designs", '"""Refuse a list of its own."""'),
    "assigns to a participle": (
        names_say_what_is_held,
        "designs",
        "for found, _ in pairs:\n    total = found",
    ),
    "has a comment without subject": (
        comments_are_plain,
        "designs",
        "SHARE = 0.5  # of the memory",
    ),
}


@pytest.mark.parametrize(("rule", "module", "text"), BROKEN.values(), ids=BROKEN)
def test_rule_finds_a_file_that(rule, module, text):
    assert list(rule(Source(f"skshapley.{module}", text)))


KEPT = {
    "imports downward": (
        imports_run_downward,
        "_run._engine",
        "from skshapley.designs import Design",
    ),
    "imports a listed name": (
        imports_listed_names,
        "designs",
        "from skshapley._tools import generator",
    ),
    "imports from a file of its own room": (
        imports_listed_names,
        "_tables._rows",
        "from skshapley._tables._inputs import n_rows",
    ),
    "imports its own package": (
        imports_run_downward,
        "solvers._wls",
        "from ._base import Solver",
    ),
    "has short code in a long file": (
        short_enough,
        "_run._engine",
        '"""' + "prose\n" * 400 + '"""\n' + "# why\n\n" * 400 + "x = 1\n",
    ),
    "names a generator's type": (
        no_hidden_randomness,
        "samplers._marginal",
        "def start(rng: np.random.Generator): return rng.random()",
    ),
    "makes a generator for a data set": (
        no_hidden_randomness,
        "testing.games",
        "rng = np.random.default_rng(0)",
    ),
    "says what below the first line": (
        first_lines_are_plain,
        "designs",
        '"""Designs.\n\nWhat they cost is told elsewhere.\n"""',
    ),
    "has words that contain one": (
        first_lines_are_plain,
        "designs",
        'def f():\n    """Return values somewhat smaller than the threshold told_."""',
    ),
    "has a comment with a subject": (
        comments_are_plain,
        "designs",
        "SHARE = 0.5  # share of memory",
    ),
    "has a parameter with a vague name": (
        names_say_what_is_held,
        "designs",
        "def f(other):\n    values = other.values",
    ),
    "names None": (
        first_lines_are_plain,
        "designs",
        '"""A design; the price is None."""',
    ),
}


@pytest.mark.parametrize(("rule", "module", "text"), KEPT.values(), ids=KEPT)
def test_rule_accepts_a_file_that(rule, module, text):
    assert not list(rule(Source(f"skshapley.{module}", text)))


# --- what is loaded, documented and written down --------------------------------------


@cache
def loaded_modules(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def heavy_modules(statement: str) -> set[str]:
    """The modules that a statement should not have loaded."""
    loaded = loaded_modules(statement)
    return (loaded & HEAVY) | (
        loaded - loaded_modules(f"import {DEPENDENCIES}")
    ) & HEAVY_UNLESS_THERE


def test_import_is_light():
    heavy = heavy_modules("import skshapley")
    assert not heavy, (
        f"import skshapley loads {sorted(heavy)}; import them inside functions"
    )


@pytest.mark.slow
def test_light_import_rule_sees_heavy_modules():
    assert heavy_modules("import skshapley, matplotlib, networkx") >= {
        "matplotlib",
        "networkx",
    }


def registered() -> Iterator[tuple[str, object]]:
    """Every class that a registry (SAMPLERS, SOLVERS, REWARDS, CLOSED_FORMS) knows by name."""
    for role in ("samplers", "solvers", "rewards", "closed_forms"):
        module = importlib.import_module(f"skshapley.{role}")
        for name, member in getattr(module, role.upper(), {}).items():
            yield f"{role}.{role.upper()}[{name!r}]", member


def public_objects(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Every public class and function of a module, and of the modules that it makes public."""
    for name in getattr(module, "__all__", ()):
        member = getattr(module, name)
        if inspect.ismodule(member):
            yield from public_objects(member)
        elif inspect.isclass(member) or inspect.isfunction(member):
            yield f"{module.__name__}.{name}", member


def without_example(objects) -> list[str]:
    """Return the names without a doctest in the Examples section of their docstring."""
    missing = []
    for name, member in objects:
        _, heading, examples = (member.__doc__ or "").partition("Examples\n")
        if not heading or ">>> " not in examples:
            missing.append(name)
    return missing


def test_public_objects_have_examples():
    missing = without_example([*public_objects(skshapley), *registered()])
    assert not missing, (
        f"no Examples section with a doctest in the docstrings of {missing}"
    )


def test_example_rule_sees_a_class_without():
    class Bare:
        """Examples of this are nowhere."""

    assert without_example([("Bare", Bare)]) == ["Bare"]


def misnamed_fragments(folder: Path) -> list[str]:
    kept = {"README.md", "_template.md.jinja"}
    return [
        p.name
        for p in sorted(folder.iterdir())
        if p.name not in kept and not FRAGMENT.fullmatch(p.name)
    ]


def test_changelog_fragments_are_well_named():
    wrong = misnamed_fragments(ROOT / "changelog.d")
    assert not wrong, (
        f"towncrier would pass over {wrong}; name them as changelog.d/README.md says"
    )


def test_fragment_rule_sees_a_wrong_name(tmp_path):
    for name in ("README.md", "2.stopping-rules.feature.md", "2.stopping-rules.md"):
        (tmp_path / name).touch()
    assert misnamed_fragments(tmp_path) == ["2.stopping-rules.md"]

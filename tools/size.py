"""Print the size of the package, its density, and the depth of two usual explanations.

Usage: python tools/size.py [--rooms]

Statements are the nodes of the syntax tree, docstrings included. Code lines are lines
without blanks, comments and docstrings. Files and levels are those that an explanation
enters, and calls of the package inside each other. Circles are files that import each
other, type imports included. With ``--rooms``, each folder of the package has a line of
its own. The house rules use the list of vague names and the circles of this file.
"""

import argparse
import ast
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "skshapley"
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

# Names of variables that do not say what the variable is
VAGUE = frozenset(
    re.findall(
        r"\w+",
        """about alike apart asked bent beside both chosen each entered few fitting found
        given held here joined kept known likely listed made merged missed more moved
        named needed one other others ours own pulled pushed rest said seen shown some
        still taken theirs there told turned usual wanted""",
    )
)


@dataclass
class Measures:
    """Counts of a source file; counts of several files add up."""

    statements: int = 0
    tokens: int = 0
    code_lines: int = 0
    assignments: int = 0
    several_at_once: int = 0
    names: int = 0
    vague_names: int = 0

    @classmethod
    def of(cls, text: str) -> "Measures":
        """Count the parts of a source file."""
        tree = ast.parse(text)
        tokens, lines = count_tokens(text, tree)
        measures = cls(tokens=tokens, code_lines=lines)
        for node in ast.walk(tree):
            measures.statements += isinstance(node, ast.stmt)
            if isinstance(node, ast.Assign | ast.AnnAssign):
                measures.assignments += 1
                measures.several_at_once += assigns_several(node)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                measures.names += 1
        measures.vague_names = len(vague_names(tree))
        return measures

    def __add__(self, other: "Measures") -> "Measures":
        sums = (mine + vars(other)[name] for name, mine in vars(self).items())
        return Measures(*sums)


def assigns_several(node: ast.Assign | ast.AnnAssign) -> bool:
    """Return True for an assignment of several names at once."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return len(targets) > 1 or isinstance(targets[0], ast.Tuple | ast.List)


def count_tokens(text: str, tree: ast.Module) -> tuple[int, int]:
    """Count the tokens of code, and the lines that hold them."""
    docstrings = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False):
            docstring = node.body[0]
            docstrings |= set(range(docstring.lineno, docstring.end_lineno + 1))
    tokens, lines = 0, set()
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type not in SILENT and token.start[0] not in docstrings:
            tokens += 1
            lines |= set(range(token.start[0], token.end[0] + 1))
    return tokens, len(lines)


def measured_rooms() -> dict[str, Measures]:
    """Return the measures of each folder of the package."""
    rooms = defaultdict(Measures)
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0]
        rooms[room] += Measures.of(path.read_text(encoding="utf-8"))
    return dict(rooms)


def vague_names(tree: ast.AST) -> list[ast.Name]:
    """Return the assigned names of the list `VAGUE`."""
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id.strip("_") in VAGUE
    ]


def file_graph(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports, for any reason.

    Parameters
    ----------
    texts : dict
        The source of each module, by its dotted name.
    """
    graph = {}
    for module, text in texts.items():
        imports = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                imports |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    submodule = f"{node.module}.{alias.name}"
                    imports.add(submodule if submodule in texts else node.module)
        graph[module] = (imports & texts.keys()) - {module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return sets of nodes that import each other, as sorted lists of names."""

    def reached(start: str) -> set[str]:
        nodes, front = set(), [start]
        while front:
            new = graph.get(front.pop(), set()) - nodes
            nodes |= new
            front.extend(new)
        return nodes

    reach = {name: reached(name) for name in graph}
    rings = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in graph}
    return sorted(sorted(names) for names in rings if names)


def package_texts() -> dict[str, str]:
    """Return the source of each module of the package, by its dotted name."""
    texts = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        module = ".".join(part for part in parts if part != "__init__")
        texts[module] = path.read_text(encoding="utf-8")
    return texts


@dataclass
class Story:
    """The files that a call enters, and the most calls of the package inside each other."""

    files: list[str]
    levels: int

    @classmethod
    def of(cls, call: Callable[[], object]) -> "Story":
        """Run a call and follow it."""
        files, depth, levels = set(), 0, 0

        def record(frame, event, argument):
            nonlocal depth, levels
            file = frame.f_code.co_filename
            if file.startswith(str(PACKAGE)) and event in ("call", "return"):
                files.add(str(Path(file).relative_to(PACKAGE)))
                depth += 1 if event == "call" else -1
                levels = max(levels, depth)

        sys.setprofile(record)
        try:
            call()
        finally:
            sys.setprofile(None)
        return cls(sorted(files), levels)


def stories() -> dict[str, Story]:
    """Return the stories of two usual explanations, ``fit`` left out."""
    from sklearn.datasets import make_regression
    from sklearn.neural_network import MLPRegressor
    from xgboost import XGBRegressor

    sys.path.insert(0, str(ROOT))  # this checkout, rather than an installed one
    from skshapley import ShapleyExplainer

    X, y = make_regression(400, 10, random_state=0)
    X = np.asarray(X)
    perceptron = MLPRegressor(hidden_layer_sizes=(8,), tol=1e9, random_state=0).fit(
        X, y
    )
    trees = XGBRegressor(n_estimators=20, max_depth=4).fit(X, y)
    stories = {}
    for name, model in {"a perceptron": perceptron, "boosted trees": trees}.items():
        explainer = ShapleyExplainer(model, random_state=0).fit(X)
        explainer.explain(X[:1])
        stories[name] = Story.of(lambda explainer=explainer: explainer.explain(X[:3]))
    return stories


def main() -> None:
    """Print the sizes."""
    parser = argparse.ArgumentParser(description="Print how large the package is.")
    parser.add_argument(
        "--rooms", action="store_true", help="list the folders, and files entered"
    )
    rooms = parser.parse_args().rooms
    sizes = measured_rooms()
    n_files = Counter(
        path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py")
    )
    print(f"{'':20} statements  lines files tokens/line several vague")
    total = sum(sizes.values(), Measures())
    print_measures("skshapley", total, n_files.total())
    if rooms:
        by_size = sorted(sizes.items(), key=lambda item: -item[1].statements)
        for room, measures in by_size:
            print_measures(f"  {room}", measures, n_files[room])
    for model, story in stories().items():
        print(
            f"explain with {model} enters {len(story.files)} files, {story.levels} "
            "levels deep"
        )
        if rooms:
            print("    " + "\n    ".join(story.files))
    rings = circles(file_graph(package_texts()))
    print(f"circles between files: {len(rings)}")
    for ring in rings:
        print(f"    {', '.join(ring)}")
    texts = [
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")
    ]
    print(
        f"tests: {sum(text.count('monkeypatch.setattr') for text in texts)} "
        "monkeypatch.setattr,"
    )
    private = sum(len(private_names(text)) for text in texts)
    print(f"       {private} private names imported")


def print_measures(name: str, measures: Measures, n_files: int) -> None:
    """Print the measures of some files as one line."""
    density = measures.tokens / max(measures.code_lines, 1)
    several = measures.several_at_once / max(measures.assignments, 1)
    vague = measures.vague_names / max(measures.names, 1)
    print(
        f"{name:20} {measures.statements:10,} {measures.code_lines:6,} {n_files:5}"
        f" {density:11.1f} {several:7.1%} {vague:5.1%}"
    )


def private_names(text: str) -> list[str]:
    """Return the imports of private modules and private names in a test file."""
    names = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "skshapley"
        ):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name for name in names if re.match(r"skshapley(\.|.*\.)_", name)]


if __name__ == "__main__":
    main()

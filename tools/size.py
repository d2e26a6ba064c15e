"""Print how large the package is: code lines, files, and the files that an explanation enters.

Usage: python tools/size.py [--rooms]

Code lines are lines without blanks, comments and docstrings. With ``--rooms`` each
folder of the package has a line of its own.
"""

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "skshapley"
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def code_lines(text: str) -> int:
    """Count the lines of a source file that hold code."""
    lines = text.splitlines()
    silent = {
        i
        for i, line in enumerate(lines, 1)
        if not line.strip() or line.strip()[0] == "#"
    }
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, DOCUMENTED)
            and ast.get_docstring(node, clean=False) is not None
        ):
            docstring = node.body[0]
            silent |= set(range(docstring.lineno, docstring.end_lineno + 1))
    return len(lines) - len(silent)


def entered(call: Callable[[], object]) -> list[str]:
    """Return the files of the package in which a call runs a function."""
    files = set()

    def record(frame, event, argument):
        if event == "call":
            files.add(frame.f_code.co_filename)

    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    inside = (Path(name) for name in files if name.startswith(str(PACKAGE)))
    return sorted(str(path.relative_to(PACKAGE)) for path in inside)


def stories() -> dict[str, list[str]]:
    """Return the files that two usual explanations enter, ``fit`` left out."""
    from sklearn.datasets import make_regression
    from sklearn.neural_network import MLPRegressor
    from xgboost import XGBRegressor

    from skshapley import ShapleyExplainer

    X, y = make_regression(400, 10, random_state=0)
    X = np.asarray(X)
    perceptron = MLPRegressor(hidden_layer_sizes=(8,), tol=1e9, random_state=0).fit(
        X, y
    )
    trees = XGBRegressor(n_estimators=20, max_depth=4).fit(X, y)
    found = {}
    for name, model in {"a perceptron": perceptron, "boosted trees": trees}.items():
        explainer = ShapleyExplainer(model, random_state=0).fit(X)
        explainer.explain(X[:1])
        found[name] = entered(lambda explainer=explainer: explainer.explain(X[:3]))
    return found


def main() -> None:
    """Print the sizes."""
    parser = argparse.ArgumentParser(description="Print how large the package is.")
    parser.add_argument(
        "--rooms", action="store_true", help="list the folders, and files entered"
    )
    rooms = parser.parse_args().rooms
    sizes, files = Counter(), Counter()
    for path in sorted(PACKAGE.rglob("*.py")):
        room = path.relative_to(PACKAGE).parts[0]
        sizes[room] += code_lines(path.read_text(encoding="utf-8"))
        files[room] += 1
    print(f"{sizes.total():,} lines of code in {files.total()} files")
    if rooms:
        for room, lines in sizes.most_common():
            print(f"    {room:20} {lines:6,} lines {files[room]:4} files")
    for model, found in stories().items():
        print(f"explain with {model} enters {len(found)} files")
        if rooms:
            print("    " + "\n    ".join(found))
    texts = [
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")
    ]
    print(
        f"tests: {sum(text.count('monkeypatch.setattr') for text in texts)} "
        "monkeypatch.setattr,"
    )
    private = sum(len(private_names(text)) for text in texts)
    print(f"       {private} private names imported")


def private_names(text: str) -> list[str]:
    """Return what a test file imports of private modules, or by private names."""
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

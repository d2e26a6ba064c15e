"""Run the script of a page that computes without a browser, by QuickJS or Node."""

import json
import shutil
import subprocess
from importlib.resources import files

import pytest

from skshapley._what_if import page_model

MODEL = (files("skshapley._what_if") / "page" / "model.js").read_text("utf-8")
# Browsers and Node have it, QuickJS has not.
ATOB = """
function atob(text) {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const codes = new Map([...letters].map((letter, code) => [letter, code]));
  let [bits, n, bytes] = [0, 0, []];
  for (const letter of text.replace(/=+$/, "")) {
    bits = (bits << 6) | codes.get(letter);
    n += 6;
    if (n >= 8) bytes.push(String.fromCharCode((bits >> (n -= 8)) & 255));
    bits &= (1 << n) - 1;
  }
  return bytes.join("");
}
"""
ANSWER = "moves.map(([cells, output]) => model.explain(cells, output))"


def model_part(explainer, rows):
    """Return the model part of a page that explains some rows."""
    return page_model(explainer, rows)


def answers(data, moves, expression=ANSWER):
    """Return the answers of a page's model to moves: cells of a row, and an output.

    Parameters
    ----------
    data : dict
        The model part of a page.
    moves : list of (cells, output)
    expression : str
        Of `model` and `moves`.
    """
    script = (
        f"{MODEL}\nconst model = new PageModel({json.dumps(data)});"
        f"\nconst moves = {json.dumps(moves)};\nJSON.stringify({expression})"
    )
    try:
        import quickjs
    except ImportError:
        return _by_node(script)
    return json.loads(quickjs.Context().eval(ATOB + script))


def _by_node(script):
    node = shutil.which("node")
    if node is None:
        pytest.skip("neither quickjs nor node")
    result = subprocess.run(
        [node, "-p", "-"], input=script, capture_output=True, text=True, check=True
    )
    return json.loads(result.stdout)

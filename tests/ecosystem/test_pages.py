"""The guide on models of other libraries: its code runs, and the values add up."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parents[2] / "doc" / "guide"
# (page, section) -> the libraries that its code imports, and the number of outputs of
# its last explanation
LIBRARIES = {
    ("libraries", "NGBoost"): (["ngboost"], 2),
    ("libraries", "statsmodels"): (["statsmodels"], 2),
    ("libraries", "FLAML"): (["flaml", "lightgbm"], 1),
    ("libraries", "ONNX Runtime"): (["onnxruntime", "skl2onnx"], 2),
    ("libraries", "Keras"): (["keras", "jax"], 3),
    ("survival", None): (["sksurv"], 6),
}

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def section_of(text, title):
    """Return the section of a page under a title; None selects the whole page."""
    if title is None:
        return text
    underline = "-" * len(title)
    after = text.partition(f"\n{title}\n{underline}\n")[2]
    return re.split(r"\n.*\n-{3,}\n", after)[0]


@pytest.mark.parametrize(("page", "title"), LIBRARIES)
def test_code_of_a_section_runs(page, title, monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.chdir(tmp_path)
    libraries, n_outputs = LIBRARIES[page, title]
    for library in libraries:
        pytest.importorskip(library)
    text = section_of((PAGES / f"{page}.rst").read_text(encoding="utf-8"), title)
    names = {}
    for block in re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text):
        exec(textwrap.dedent(block), names)
        if "explanation" in names:
            made = names["explanation"]
            total = made.base_values + made.values.sum(axis=1)
            np.testing.assert_allclose(total, made.predictions, rtol=0, atol=1e-5)
    assert n_outputs == (1 if made.output_names is None else len(made.output_names))

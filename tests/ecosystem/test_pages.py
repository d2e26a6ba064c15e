"""The pages of the guide on models of other libraries: their code runs, and the values add up."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

PAGES = Path(__file__).parents[2] / "doc" / "guide"
# page -> the libraries that its code imports, and the number of outputs of its last
# explanation
LIBRARIES = {
    "ngboost": (["ngboost"], 2),
    "statsmodels": (["statsmodels"], 2),
    "flaml": (["flaml", "lightgbm"], 1),
    "onnx": (["onnxruntime", "skl2onnx"], 2),
    "keras": (["keras", "jax"], 3),
    "survival": (["sksurv"], 6),
}

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("page", LIBRARIES)
def test_code_of_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.chdir(tmp_path)
    libraries, n_outputs = LIBRARIES[page]
    for library in libraries:
        pytest.importorskip(library)
    text = (PAGES / f"{page}.rst").read_text(encoding="utf-8")
    names = {}
    for block in re.findall(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text):
        exec(textwrap.dedent(block), names)
        if "explanation" in names:
            made = names["explanation"]
            total = made.base_values + made.values.sum(axis=1)
            np.testing.assert_allclose(total, made.predictions, rtol=0, atol=1e-5)
    assert n_outputs == (1 if made.output_names is None else len(made.output_names))

"""Calls of shap and skshapley that stand side by side on the page give the same numbers."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation
from skshapley.explanation import Settings

PATH = Path(__file__).parents[1] / "doc" / "from_shap.rst"
PAGE = (
    PATH.read_text(encoding="utf-8") if PATH.exists() else ""
)  # not in the source distribution
LINE = re.compile(r"^   \* - (.*)\n     - (.*)$", re.M)
CODE = re.compile(r"``(.*?)``")


def pairs():
    """Expressions of shap beside ours, if both return numbers of an explanation."""
    sides = [
        (one, other)
        for theirs, ours in LINE.findall(PAGE)
        for one in CODE.findall(theirs)
        for other in CODE.findall(ours)
    ]
    numeric = re.compile(
        r"(len\(|abs\(|np\.asarray\()?e\b(?!.*(plot|cohorts|importance|save))"
    )
    return [both for both in sides if all(numeric.match(code) for code in both)]


def made(outputs):
    rng = np.random.default_rng(0)
    shape = (9, 3, 3) if outputs else (9, 3)
    values = rng.normal(size=shape)
    base = rng.normal(size=shape[:1] + shape[2:])
    names = ["age", "size", "weight"]
    return Explanation(
        values=values,
        standard_errors=None,
        base_values=base,
        predictions=base + values.sum(axis=1),
        data=pd.DataFrame(
            rng.normal(size=(9, 3)), [f"row {i}" for i in range(9)], names
        ),
        feature_names=np.array(names, dtype=object),
        output_names=np.array(["no", "yes", "maybe"], dtype=object)
        if outputs
        else None,
        n_evaluations=np.full(9, 8.0),
        n_model_rows=np.full(9, 80),
        converged=np.ones(9, dtype=bool),
        settings=Settings(),
    )


def numbers(thing):
    return np.squeeze(np.asarray(getattr(thing, "values", thing), dtype=float))


@pytest.mark.skipif(not PAGE, reason="the documentation is not there")
def test_the_page_has_enough_to_compare():
    assert len(pairs()) >= 20


@pytest.mark.parametrize(("theirs", "ours"), pairs())
def test_both_packages_give_the_same_numbers(theirs, ours):
    pytest.importorskip("shap")
    e = made(outputs=", :, " in theirs or "..." in theirs)
    here = eval(ours, {"e": e, "np": np, "abs": abs})
    there = eval(theirs, {"e": e.to_shap()})
    np.testing.assert_allclose(numbers(here), numbers(there), rtol=1e-12)


def test_other_names_on_the_page_exist():
    """Members of our explanations and their plots, in the column of ours and in the text."""
    ours = "\n".join([LINE.sub("", PAGE), *(ours for _, ours in LINE.findall(PAGE))])
    explanation = made(outputs=False)
    names, plots = (re.findall(rf"``{of}\.(\w+)", ours) for of in (r"e", r"e\.plot"))
    assert len(names) > 20
    assert len(plots) > 10
    assert [name for name in names if not hasattr(explanation, name)] == []
    assert [name for name in plots if not hasattr(explanation.plot, name)] == []

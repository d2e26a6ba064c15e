"""The text of the report: numbers of the explanation, escaped names, no files to load."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley._report._content import column

from .conftest import report_text


class Page(HTMLParser):
    """The elements of a page, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.scripts, self.policy = [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if dict(attrs).get("http-equiv") == "Content-Security-Policy":
            self.policy = dict(attrs)["content"]

    def handle_data(self, data):
        if self.tags and self.tags[-1] == "script" and data.strip():
            self.scripts.append(data)


def content_of(text):
    return json.loads(Page(text).scripts[0])


def by_output(explanation):
    names = explanation.output_names
    return (
        [explanation] if names is None else [explanation.output(name) for name in names]
    )


def close(written, known, digits):
    """Check that rounded numbers, None for NaN, agree with the known ones."""
    written = np.array(written, dtype=float).T
    np.testing.assert_allclose(
        written, known, rtol=0.5 * 10.0 ** (1 - digits) * 1.001, atol=0
    )


@pytest.mark.parametrize("kind", ["plain", "awkward"])
def test_numbers_agree_with_the_explanation(kind, request):
    explanation = request.getfixturevalue(kind)
    shown = content_of(report_text(explanation))
    names = [str(name) for name in explanation.feature_names]
    assert sorted(shown["features"]) == sorted(names)
    assert shown["rows"] == [str(label) for label in explanation.index]
    kept = [names.index(name) for name in shown["features"]]
    for written, known in zip(shown["outputs"], by_output(explanation), strict=True):
        close(written["values"], known.values[:, kept], 6)
        close(written["errors"], known.standard_errors[:, kept], 3)
        close(written["wider"], known.background_errors[:, kept], 3)
        close(written["predictions"], known.predictions, 6)
        close(written["base"], known.base_values, 6)
        columns = ["importance", "standard_error", "background_error", "refit_error"]
        frame = known.importance().loc[
            [explanation.feature_names[j] for j in kept], columns
        ]
        close(written["importance"], frame.to_numpy().T, 6)
        assert not written["gap"]


def test_the_strongest_features_come_first_and_others_are_summed(plain):
    shown = content_of(report_text(plain, max_features=3, max_rows=10))
    order = plain.importance().index
    assert shown["features"] == order[:3].tolist()
    assert (shown["n_others"], len(shown["rows"]), shown["n_explained"]) == (3, 10, 40)
    (output,) = shown["outputs"]
    rest = [list(plain.feature_names).index(name) for name in order[3:]]
    sums = plain.values[:, rest].sum(axis=1)
    close(output["values"][3], sums[::4], 6)
    assert output["others"] == pytest.approx(np.abs(sums).mean())
    # importances are those of all rows
    known = plain.importance()["importance"].iloc[:3]
    np.testing.assert_allclose(
        [line[0] for line in output["importance"]], known, rtol=1e-5
    )


def test_a_single_feature_is_not_summed(plain):
    shown = content_of(report_text(plain, max_features=5))
    assert (len(shown["features"]), shown["n_others"]) == (6, 0)


def test_selections_sum_the_other_features_and_sizes_have_no_report(awkward):
    names = awkward.feature_names[:2].tolist()
    shown = content_of(report_text(awkward[names]))
    left_out = awkward.values[:, 2:].sum(axis=1)
    for number_of, output in enumerate(shown["outputs"]):
        last = shown["features"].index("features left out")
        known = left_out if left_out.ndim == 1 else left_out[:, number_of]
        np.testing.assert_allclose(output["values"][last], known, rtol=1e-5, atol=1e-9)
        assert not output["gap"]
    with pytest.raises(ValueError, match="as by abs, do not add up to a prediction"):
        report_text(abs(awkward))


def test_pairs_are_the_strongest_interactions(awkward):
    shown = content_of(report_text(awkward))
    names = [str(name) for name in awkward.feature_names]
    places = [names.index(name) for name in shown["features"]]
    for written, known in zip(shown["outputs"], by_output(awkward), strict=True):
        frame = known.interactions.importance()
        assert len(written["pairs"]) == 10
        for pair, ((first, second), line) in zip(
            written["pairs"], frame.iterrows(), strict=False
        ):
            assert [shown["features"][place] for place in pair["features"]] == [
                first,
                second,
            ]
            a, b = (places[place] for place in pair["features"])
            close(pair["values"], known.interactions.values[:, a, b], 6)
            assert pair["importance"][0] == pytest.approx(line["importance"], rel=1e-5)


def test_groups_have_their_sums(plain):
    """Each group by its path, with the numbers of the folded explanation."""
    groups = {
        "near": {"size": ["x0", "x3"], "x1": ["x1"]},
        "far": {"size": ["x4", "x5"]},
    }
    shown = content_of(report_text(plain, groups=groups, max_features=4))
    path_of = dict(zip(shown["features"], shown["paths"], strict=True))
    assert [path_of[name] for name in ("x0", "x1", "x2", "x3")] == [
        ["near", "size"],
        ["near"],
        [],
        ["near", "size"],
    ]
    assert (shown["n_features"], shown["n_others"]) == (6, 0)
    paths = [tuple(path) for path, _ in shown["groups"]]
    assert [n for _, n in shown["groups"]] == [3, 2, 2, 2, 2]
    assert paths == [
        ("near",),
        ("near", "size"),
        ("far",),
        ("far", "size"),
        ("far", "size", None),  # x4 and x5 are not shown separately
    ]
    outer, inner = plain.folded(groups), plain.folded(groups, level=2)
    assert inner.feature_names.tolist() == ["near / size", "x1", "x2", "far / size"]
    parts = [
        outer[["near"]],
        inner[["near / size"]],
        outer[["far"]],
        inner[["far / size"]],
        outer[["far"]],
    ]
    numbers = shown["outputs"][0]["groups"]
    for number, part in enumerate(parts):
        close([numbers["values"][number]], part.values, 6)
        close([numbers["errors"][number]], part.standard_errors, 3)
        close([numbers["wider"][number]], part.background_errors, 3)
        sizes = part.importance()[["importance", "standard_error", "background_error"]]
        close(numbers["importance"][number][:3], sizes.to_numpy()[0], 6)
    assert not content_of(report_text(plain, groups={"x1": ["x1"]}))["groups"]
    with pytest.raises(ValueError, match="groups of the features"):
        report_text(plain, groups={"near": ["x9"]})


def test_names_are_escaped(awkward, evil):
    page = Page(report_text(awkward, title=f"</title>{evil}"))
    assert "img" not in page.tags
    assert page.tags.count("script") == 2
    assert len(page.scripts) == 2  # what ends a script early would be a third
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert json.loads(page.scripts[0])["rows"][3] == f"row 3 {evil}"


def test_the_page_loads_no_other_file(awkward):
    text = report_text(awkward)
    assert "://" not in text
    assert not re.search(r"@import|\burl\(|fetch\(|XMLHttp|innerHTML|eval\(", text)
    page = Page(text)
    sources = [value for name, value in page.attributes if name in ("src", "href")]
    assert sources == ["data:,"]
    assert "default-src 'none'" in page.policy
    assert "unsafe" not in page.policy


def test_a_thousand_rows_of_thirty_features_are_small(thousand):
    assert len(report_text(thousand).encode()) < 2_500_000


# Bytes of script, style and frame before there were panels and comparisons
FRAME_BYTES = 58_000


def test_parts_are_embedded_on_demand(plain, awkward):
    page = report_text(plain)
    frame = page.replace(re.findall(r'id="content">(.*?)</script>', page)[0], "")
    assert len(frame.encode()) < FRAME_BYTES
    labels = awkward.output_names[np.arange(len(awkward)) % 2]
    groups = {"all": awkward.feature_names.tolist()}
    full = report_text(awkward, beside=awkward, y=labels, groups=groups)
    for word in ("drawBeside", "drawInteractions", "True value", "groupBars"):
        assert word in full
        assert word not in page


def facts_of(explanation):
    return dict(content_of(report_text(explanation))["outputs"][0]["facts"])


def test_the_page_shows_standard_errors(plain):
    facts = facts_of(plain)
    assert facts["Response"] == "probability"
    assert facts["Model rows"] == "320 for each row, 12,800 in all"
    assert facts["Adds up"].startswith("yes")
    largest = f"{plain.standard_errors.max():.3f}"
    assert largest in facts["Standard errors"]
    assert "of the same kind" in facts["Background errors"]
    exact = replace(
        plain, standard_errors=np.zeros_like(plain.values), background_errors=None
    )
    facts = facts_of(exact)
    assert facts["Standard errors"].startswith("0: ")
    assert facts["Background errors"].startswith("computed on request")
    assert content_of(report_text(exact))["outputs"][0]["errors"] is None
    unknown = replace(plain, standard_errors=None, predictions=plain.predictions + 0.5)
    facts = facts_of(unknown)
    assert facts["Standard errors"].startswith("not known")
    assert facts["Adds up"].startswith("no: ")
    assert "0.500" in facts["Adds up"]
    assert content_of(report_text(unknown))["outputs"][0]["gap"]


COLUMNS = {
    "integers": ([3, -1, 2], {"kind": "number", "x": [3, -1, 2]}),
    "floats": ([0.5, np.nan, 1e300], {"x": [0.5, None, 1e300], "texts": {}}),
    "infinite": (
        [1.0, -np.inf, np.inf],
        {"x": [1, None, None], "texts": {"1": "−∞", "2": "∞"}},
    ),
    "texts": (
        ["b", None, "a"],
        {"names": ["a", "b"], "codes": [1, -1, 0], "ordered": False},
    ),
    "truths": (
        [True, False],
        {"names": ["False", "True"], "codes": [1, 0], "ordered": True},
    ),
    "long integers": ([2**60 + 1, 5], {"kind": "text", "names": [str(2**60 + 1), "5"]}),
    "nothing": ([None, None], {"kind": "text", "names": [], "codes": [-1, -1]}),
    "lists": ([[1, 2], [3]], {"kind": "text", "names": ["[1, 2]", "[3]"]}),
    "dates": (
        pd.to_datetime(["1970-01-02 00:00:01", None]).tz_localize("Europe/Berlin"),
        {"kind": "date", "x": [86401, None]},
    ),
    "levels": (
        pd.Categorical(["low", "high", None], ["low", "mid", "high"], ordered=True),
        {"names": ["low", "mid", "high"], "codes": [0, 2, -1], "ordered": True},
    ),
}


@pytest.mark.parametrize(("values", "known"), COLUMNS.values(), ids=COLUMNS)
def test_columns(values, known):
    written = column(pd.Series(values))
    assert {name: written[name] for name in known} == known
    json.dumps(written, allow_nan=False)


@pytest.mark.parametrize(
    ("outputs", "places"),
    [
        ([0.5, 1.0, 4.0], [0.5, 1.0, 4.0]),
        (["a", "b", "c"], None),
        ([0, 1, 2], None),
        ([2.0, 1.0, 3.0], None),
    ],
)
def test_outputs_that_are_ascending_numbers_have_places(outputs, places):
    slopes = np.array([[1.0, 2.0, 3.0], [0.0, -5.0, 1.0], [0.1, 0.1, 0.1]])
    explainer = ShapleyExplainer(lambda X: pd.DataFrame(X @ slopes, columns=outputs))
    explanation = explainer.fit(np.zeros((1, 3))).explain(np.eye(3))
    assert content_of(report_text(explanation))["places"] == places


def test_duplicate_names(plain):
    """Features with equal names, such as tokens, are distinguished by position."""
    names = np.array(["the"] * 6, dtype=object)
    twice = replace(plain, feature_names=names, data=plain.data.set_axis(names, axis=1))
    shown = content_of(report_text(twice))
    again = content_of(report_text(plain))
    assert shown["features"] == ["the"] * 6
    assert shown["outputs"][0]["importance"] == again["outputs"][0]["importance"]


def test_file(plain, tmp_path):
    path = plain.report(tmp_path / "r.html", title="Ärger & Freude \udcff")
    text = path.read_text(encoding="utf-8")
    assert path == tmp_path / "r.html"
    assert "<h1>Ärger &amp; Freude ?</h1>" in text
    assert "Explanation of Model" in plain.report(str(path)).read_text(encoding="utf-8")


def test_one_row(plain):
    shown = content_of(report_text(plain[0]))
    assert shown["rows"] == ["row 0"]
    assert shown["outputs"][0]["importance"][0][1] is None  # no spread to judge by


WRONG = {
    "rows": (
        dict(max_rows=0),
        ValueError,
        "takes max_rows as None or a positive .*got 0",
    ),
    "features": (
        dict(max_features=1.5),
        ValueError,
        "takes max_features as None or a positive int",
    ),
    "title": (dict(title=3), TypeError, "takes title as None or a str.*got 3"),
}


@pytest.mark.parametrize(("given", "error", "written"), WRONG.values(), ids=WRONG)
def test_invalid_arguments_are_refused(given, error, written, plain, tmp_path):
    with pytest.raises(error, match=f"Explanation.report {written}"):
        plain.report(tmp_path / "r.html", **given)
    with pytest.raises(ValueError, match="at least one row"):
        plain[[]].report(tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "written"),
    [
        (
            {"response_method": "log_odds", "explained_class": "yes"},
            "0.400, a probability of 0.599",
        ),
        ({"response_method": "log_odds", "output": "setosa"}, "0.400"),
        ({"response_method": "predict"}, "0.400"),
    ],
)
def test_base_values_in_log_odds_show_the_probability(plain, settings, written):
    explanation = replace(plain, settings=replace(plain.settings, **settings))
    (output,) = content_of(report_text(explanation))["outputs"]
    assert dict(output["facts"])["Base value"] == written
    assert output["logit"] == ("probability" in written)


def test_absent_features_are_explained_in_plain_words(plain):
    settings = replace(plain.settings, reward="InterventionalReward()")
    (output,) = content_of(report_text(replace(plain, settings=settings)))["outputs"]
    written = dict(output["facts"])["Absent features"]
    assert (
        written == "interventional: absent features take the values of background rows"
    )


def test_the_page_has_contents_filters_and_a_download(plain):
    page = Page(report_text(plain))
    ids = {value for name, value in page.attributes if name == "id"}
    assert {"contents", "filter", "least", "most", "download"} <= ids

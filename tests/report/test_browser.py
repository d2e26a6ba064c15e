"""The report in a browser: it draws, loads no file, and works by keyboard and on a phone.

Runs if `make test-browser` has installed Playwright and axe.
"""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from .conftest import make_explanation

pytestmark = pytest.mark.slow
LIMIT_MS = 1000


def texts(page, selector):
    return page.locator(selector).all_inner_texts()


def test_a_thousand_rows_are_ready_within_a_second(opened, thousand):
    """Processor time of the page's thread, which does not depend on the load of the machine."""
    page = opened(thousand)
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.reload()
    page.wait_for_selector("html[data-drawn]", state="attached")
    metrics = client.send("Performance.getMetrics")["metrics"]
    busy = {metric["name"]: metric["value"] for metric in metrics}
    assert page.locator("#beeswarm .dots").count() > 50
    assert 1000 * busy["TaskDuration"] < LIMIT_MS


def test_everything_is_drawn(opened, awkward, evil):
    page = opened(awkward)
    assert page.title() == "Explanation of Model"  # which every evil name would change
    assert page.locator("img").count() == 0
    shown = texts(page, "#importance th")
    order = awkward.output(awkward.output_names[0]).importance().index
    assert shown == list(order)
    assert page.locator("#dependence .panel svg .dots").count() >= 4
    assert len(texts(page, "#interactions .chart tr")) == 10
    assert page.locator("#interactions .panel svg .dots").count() >= 1
    # the other output
    page.locator("#output").select_option(label=f"no {evil}")
    order = awkward.output(awkward.output_names[1]).importance().index
    assert texts(page, "#importance th") == list(order)
    assert "probability of no" in texts(page, "#facts dd")[0]


@pytest.mark.parametrize("width", [1200, 360])
def test_outputs_that_are_numbers_have_curves(width, opened):
    """Drawn for all rows, and below the waterfall of one row, without accessibility problems."""
    explanation = make_explanation(outputs=[0.5, 1.0, 4.0])
    settings = replace(explanation.settings, response_method="SurvivalAt")
    page = opened(replace(explanation, settings=settings), width, {"bypass_csp": True})
    assert page.locator("#curves .curve").count() == 6
    page.get_by_role("button", name="row 3", exact=True).click()
    assert page.locator(".detail .curve").count() == 6
    first = page.locator(".detail .curve").first.get_attribute("d")
    assert first.count("L") == 2
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    assert axe.run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_row_opens_its_waterfall(opened, plain):
    page = opened(plain)
    row = page.get_by_role("button", name="row 3", exact=True)
    assert row.get_attribute("aria-expanded") == "false"
    row.click()
    assert row.get_attribute("aria-expanded") == "true"
    lines = texts(page, ".detail th")
    values = plain.to_frame().loc["row 3"]
    order = values.abs().sort_values(ascending=False).index
    assert [line.split(" = ")[0] for line in lines] == [
        "prediction",
        *order,
        "base value",
    ]
    printed = texts(page, ".detail td.number")
    assert printed[1].startswith(f"{values[order[0]]:+.3g}".replace("-", "−"))
    assert printed[0] == f"{plain.predictions[3]:.3g}".replace("-", "−")
    row.click()
    assert page.locator(".detail").count() == 0


def test_waterfall_bars_run_from_base_value_to_prediction(opened, plain):
    page = opened(plain)
    page.get_by_role("button", name="row 3", exact=True).click()
    boxes = page.evaluate(
        """() => [...document.querySelectorAll(".detail svg")].map(svg => {
          const drawn = svg.querySelector("rect") ?? svg.querySelector("circle");
          const box = drawn.getBoundingClientRect();
          return [box.left, box.right];
        })"""
    )
    middle = [(left + right) / 2 for left, right in (boxes[0], boxes[-1])]
    values = plain.to_frame().loc["row 3"]
    steps = values[values.abs().sort_values().index].cumsum() + plain.base_values[3]
    unit = (middle[0] - middle[1]) / (plain.predictions[3] - plain.base_values[3])
    start = plain.base_values[3]
    for end, box in zip(steps, boxes[-2:0:-1], strict=True):
        known = sorted(
            middle[1] + unit * (x - plain.base_values[3]) for x in (start, end)
        )
        assert box == pytest.approx(known, abs=1.0)  # a pixel
        start = end


def test_rows_can_be_sorted_and_searched(opened, plain):
    page = opened(plain)
    page.get_by_role("button", name="Prediction", exact=True).click()
    head = page.locator(
        "th", has=page.get_by_role("button", name="Prediction", exact=True)
    )
    assert head.get_attribute("aria-sort") == "descending"
    order = plain.index[(-plain.predictions).argsort(kind="stable")]
    assert texts(page, "#table .opener") == list(order[:25])
    page.get_by_role("button", name="Next").click()
    assert texts(page, "#table .opener") == list(order[25:])
    assert page.locator("#place").inner_text() == "26 to 40 of 40 rows"
    page.get_by_role("button", name="Prediction", exact=True).click()
    assert texts(page, "#table .opener") == list(order[::-1][:25])
    page.get_by_label("Search").fill("row 3")
    found = {name for name in plain.index if "3" in name}
    assert {*texts(page, "#table .opener")} == found
    page.get_by_label("Search").fill("nowhere")
    assert page.locator("#place").inner_text() == "no row found"


def test_rows_are_filtered_and_downloaded(opened, plain):
    """By a range of predictions, by a category, and in the order of the table."""
    page = opened(replace(plain, data=plain.data.assign(x0=np.resize(["b", "a"], 40))))
    middle = np.median(plain.predictions)
    page.get_by_label("from").last.fill(str(middle))
    page.locator("#filter select").select_option(label="a")
    found = [i for i in range(40) if i % 2 and plain.predictions[i] >= middle]
    assert texts(page, "#table .opener") == [f"row {i}" for i in found]
    page.get_by_role("button", name="Its error", exact=True).click()
    order = sorted(found, key=lambda i: -plain.standard_errors[i, 0])
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the table").click()
    table = pd.read_csv(download.value.path(), index_col="row")
    assert list(table.index) == [f"row {i}" for i in order]
    for noun, numbers in (
        ("attribution", plain.values),
        ("standard error", plain.standard_errors),
    ):
        known = np.round(numbers[order], 6)
        made = table[[f"{noun}: x{i}" for i in range(6)]]
        np.testing.assert_allclose(made, known, rtol=1e-2)


def test_two_dozen_categories_are_legible(opened, plain):
    """Upright labels, each whole, beside each other and above the title."""
    names = [
        f"{side} {place}"
        for side in "NESW"
        for place in ("a", "b", "c", "d", "terminal of", "f")
    ]
    page = opened(replace(plain, data=plain.data.assign(x0=np.resize(names, 40))), 390)
    panel = page.locator("#dependence .panel").first
    upright = panel.locator("svg text[text-anchor=end][transform]")
    assert {*upright.all_text_contents()} == {*names}
    boxes = [label.bounding_box() for label in upright.all()]
    title = panel.locator("text.title").first.bounding_box()
    assert max(box["y"] + box["height"] for box in boxes) < title["y"]
    assert min(right["x"] - left["x"] for left, right in pairwise(boxes)) > 10


@pytest.mark.parametrize(("width", "n_columns"), [(390, 4), (800, 5)])
def test_titles_of_columns_stand_above_their_cells(width, n_columns, opened, plain):
    """The largest attributions stand below their row, on its whole width."""
    page = opened(plain, width)
    heads = page.locator("#table thead th:visible").all()
    cells = page.locator("#table tbody tr").first.locator("th, td:visible").all()
    for head, cell in zip(heads, cells[: len(heads)], strict=True):
        assert head.bounding_box()["x"] == pytest.approx(
            cell.bounding_box()["x"], abs=1
        )
    assert len(heads) == n_columns
    reasons = page.locator("#table td.reasons").first.bounding_box()
    assert reasons["width"] > 0.9 * width


def test_a_point_opens_its_row(opened, plain):
    """On another page of the table, in another order, or with an empty search result."""
    page = opened(plain)
    page.get_by_role("button", name="Prediction", exact=True).click()
    page.get_by_role("button", name="Prediction", exact=True).click()
    page.get_by_label("Search").fill("nowhere")
    strip = page.locator("#beeswarm svg[role=img]").first
    strip.scroll_into_view_if_needed()
    last = plain.importance().index[0]
    row = plain.to_frame()[last].idxmax()
    box = strip.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 6, box["y"] + box["height"] / 2)
    assert page.locator("#tip").inner_text().startswith(f"{row}: {last} = ")
    page.mouse.down()
    page.mouse.up()
    opener = page.get_by_role("button", name=row, exact=True)
    assert opener.get_attribute("aria-expanded") == "true"
    assert opener.evaluate("button => button === document.activeElement")


def test_the_page_works_with_the_keyboard_alone(opened, plain):
    page = opened(plain)
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent"))
        ring = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert ring == "solid"
        if seen[-1] == "row 1":
            break
    assert any(text.startswith("Prediction") for text in seen)
    page.keyboard.press("Enter")
    assert page.locator(".detail").count() == 1
    page.keyboard.press("Space")
    assert page.locator(".detail").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_axe_finds_no_accessibility_problem(width, scheme, opened, awkward):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    # its script is put in from outside, which the page's own policy forbids
    page = opened(awkward, width, {"color_scheme": scheme, "bypass_csp": True})
    page.locator(".opener").first.click()
    dark = (
        page.evaluate("getComputedStyle(document.body).backgroundColor")
        != "rgb(255, 255, 255)"
    )
    assert dark == (scheme == "dark")
    found = axe.Axe().run(page)
    assert not found.response["violations"], found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_long_names_fit_a_phone(opened, plain):
    names = np.array([f"{'x' * 90}{i}" for i in range(6)], dtype=object)
    data = plain.data.set_axis(names, axis=1).set_axis(
        [f"{'y' * 90}{i}" for i in range(40)]
    )
    page = opened(replace(plain, feature_names=names, data=data), 320)
    page.locator(".opener").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


NESTED = {
    "near": {"first": ["x0", "x1"], "x2": ["x2"]},
    "far": {"deep": {"deeper": ["x3", "x5"], "x6": ["x6"]}, "last": ["x9", "x10"]},
}


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (400, "dark")])
def test_groups_unfold_into_their_members(width, scheme, opened):
    """With the numbers of folded explanations, by mouse and by keyboard."""
    explanation = make_explanation(n_features=12)
    context = {"bypass_csp": True, "color_scheme": scheme}
    page = opened(explanation, width, context, groups=NESTED)
    outer, inner = explanation.folded(NESTED), explanation.folded(NESTED, level=2)
    bars = page.locator("#importance .chart")
    names = outer.importance().index.tolist()
    assert texts(page, "#importance th") == names
    assert bars.locator("button").all_inner_texts() == [
        name for name in names if name in NESTED
    ]
    far = bars.get_by_role("button", name="far")
    assert far.get_attribute("aria-expanded") == "false"
    far.click()
    assert far.get_attribute("aria-expanded") == "true"
    members = inner[["deep", "last"]].importance()
    names[names.index("far") + 1 : names.index("far") + 1] = members.index
    assert texts(page, "#importance th") == names
    numbers = dict(zip(names, texts(page, "#importance td.number"), strict=True))
    for name, size in members["importance"].items():
        assert numbers[name].startswith(f"{size:.3g}")
    page.keyboard.press("ArrowLeft")
    assert "deep" not in texts(page, "#importance th")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    focused = page.evaluate("document.activeElement.innerText")
    assert focused == members.index[0]
    indents = page.evaluate(
        """() => [...document.querySelectorAll("#importance .member")].map(
          (box) => box.firstChild.getBoundingClientRect?.().left ?? 0)"""
    )
    assert len({left for left in indents if left}) == 2  # of two levels of buttons
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    assert axe.run(page).violations_count == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(media="print")
    assert far.is_visible()
    assert page.locator("#table .opener").first.is_visible()


def test_the_waterfall_of_a_row_unfolds_its_groups(opened):
    explanation = make_explanation(n_features=12)
    page = opened(explanation, groups=NESTED)
    page.get_by_role("button", name="row 3", exact=True).click()
    detail = page.locator(".detail")
    outer = explanation.folded(NESTED)[[3]].to_frame().iloc[0]
    order = outer.abs().sort_values(ascending=False).index.tolist()

    def lines():
        cells = detail.locator("th").all_inner_texts()
        return [cell.split(" = ")[0] for cell in cells]

    assert lines() == ["prediction", *order, "base value"]
    for name in ("far", "deep", "deeper"):
        detail.get_by_role("button", name=name, exact=True).click()
    assert {"x3", "x5", "x6", "last"} <= {*lines()}
    assert len(lines()) == len(order) + 2 + 6
    boxes = page.evaluate(
        """() => [...document.querySelectorAll(".detail tr")].map(line => {
          const box = (line.querySelector("svg rect") ?? line.querySelector("svg circle"))
            .getBoundingClientRect();
          return [line.querySelector("th").innerText.split(" = ")[0], box.left, box.right];
        })"""
    )
    ends = {name: (left, right) for name, left, right in boxes}
    unit = sum(ends["prediction"]) / 2 - sum(ends["base value"]) / 2
    unit /= explanation.predictions[3] - explanation.base_values[3]
    for name, value in [*outer.items(), ("x3", explanation.values[3, 3])]:
        left, right = ends[name]
        assert right - left == pytest.approx(abs(unit * value), abs=1.0)
    # the members of a group are steps from one end of its bar to the other
    steps = [ends[name] for name in ("deep", "last")]
    lowest, highest = min(min(steps)), max(right for _, right in steps)
    left, right = ends["far"]
    assert lowest <= left + 1
    assert highest >= right - 1
    detail.get_by_role("button", name="All 12 features").click()
    assert len(lines()) == 2 + 12 + 6
    with page.expect_download() as download:
        detail.locator("button.save").click()
    assert ">deeper<" in download.value.path().read_text()


def test_one_row_shows_its_waterfall_at_once(opened, plain):
    page = opened(plain[3])
    assert page.locator(".detail").count() == 1
    assert not page.locator("#beeswarm").is_visible()
    assert not page.locator("#dependence").is_visible()


def test_many_features(opened, thousand):
    page = opened(thousand[:20], max_features=14)
    assert (
        len(texts(page, "#importance .strips th")) == 11
    )  # ten, and the sum of sixteen
    assert "16 other features, summed" in texts(page, "#importance th")
    page.get_by_role("button", name="Show all 14 features").click()
    assert len(texts(page, "#importance .strips th")) == 15
    page.locator(".opener").first.click()
    assert texts(page, ".detail th")[-2] == "20 other features"
    page.get_by_role("button", name="All 14 features", exact=True).click()
    assert texts(page, ".detail th")[-2] == "16 other features"


def test_names_adapt_to_the_width_of_a_phone(opened, plain):
    """Names stand above their pictures, so sixty letters take two lines, also in tables of rows."""
    long = "number of days since the last payment by the department"
    names = np.array([f"{long} {i}" for i in range(6)], dtype=object)
    data = plain.data.set_axis(names, axis=1)
    # numbers such as −0.00853 ± 0.0059, which are the longest
    small = replace(
        plain, values=plain.values / 100, standard_errors=plain.standard_errors / 30
    )
    page = opened(replace(small, feature_names=names, data=data), 360)
    page.locator(".opener").first.click()
    for table in ("#importance", "#beeswarm", ".detail"):
        name = page.locator(f"{table} th", has_text="department").first
        box = name.bounding_box()
        strip = page.locator(f"{table} td svg").first.bounding_box()
        assert box["width"] > 0.8 * 360
        assert box["height"] < 60
        assert strip["width"] > 0.5 * 360
        assert page.locator(f"{table} [role=rowheader]").count() >= 6
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    label = page.locator("label", has_text="Feature").bounding_box()
    assert label["height"] < 50  # in one line


def test_tick_labels_do_not_overlap(opened, plain):
    """Missing values beside dates, and categories that differ at their ends."""
    data = plain.data.copy()
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(40), "D")
    data["x0"] = pd.Series(days, index=data.index).where(np.arange(40) % 5 > 0)
    data["x1"] = [f"State of the number {i % 8}" for i in range(40)]
    data["x2"] = np.resize([0.0, 1.0, np.nan], 40)
    page = opened(replace(plain, data=data), 360)
    for place in range(3):
        panel = page.locator("#dependence .panel").nth(place)
        anchor = "end][transform" if place == 1 else "middle"  # long texts are upright
        marks = panel.locator(f"svg text[text-anchor={anchor}]:not(.title)").all()
        boxes = [mark.bounding_box() for mark in marks]
        for left, right in pairwise(boxes):
            assert left["x"] + left["width"] < right["x"]
        texts = [mark.text_content() for mark in marks]
        assert len({*texts}) == len(texts) >= 3
        assert boxes[-1]["x"] + boxes[-1]["width"] <= 360
        sides = panel.locator("svg text[text-anchor=end]").first.bounding_box()
        dots = [dot.bounding_box()["x"] for dot in panel.locator("svg .dots").all()]
        assert min(dots) > sides["x"] + sides["width"]  # no point on the numbers beside
    texts = (
        page.locator("#dependence .panel")
        .nth(2)
        .locator("svg text[text-anchor=middle]:not(.title)")
    )
    assert texts.all_text_contents() == ["missing", "0", "1"]


def test_one_picture_is_saved_as_svg(opened, awkward):
    """With the texts and the bars of the page, and without its style."""
    page = opened(awkward)
    with page.expect_download() as download:
        page.get_by_role("button", name="of What matters as SVG").click()
    picture = ET.parse(download.value.path()).getroot()
    shapes = [node.tag.partition("}")[2] for node in picture.iter()]
    assert shapes.count("rect") == 1 + 6
    assert not {*shapes} - {"svg", "g", "rect", "line", "text"}
    written = "".join(node.text or "" for node in picture.iter() if "text" in node.tag)
    for name in awkward.feature_names:
        assert "".join(name.split()) in "".join(written.split())
    bars = [node for node in picture.iter() if node.get("fill") == "rgb(59, 120, 180)"]
    assert len(bars) == 6


def test_a_line_and_a_filter_show_the_mean_of_their_rows(opened, plain):
    """The mean attributions of the rows, and all rows again."""
    page = opened(plain)
    assert not page.locator("#group").is_visible()
    feature = plain.importance().index[0]
    strip = page.locator("#beeswarm svg[role=img]").first
    strip.scroll_into_view_if_needed()
    box = strip.bounding_box()
    left, top = box["x"] + box["width"] / 2, box["y"] + 1
    right, bottom = box["x"] + box["width"] - 1, box["y"] + box["height"] - 2
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((right, top), (right, bottom), (left, bottom)):
        page.mouse.move(*corner)
    page.mouse.up()
    rows = texts(page, "#table .opener")
    values = plain.to_frame()[feature]
    assert 1 < len(rows) < 25
    assert {*rows} == {*values.sort_values().index[-len(rows) :]}
    means = plain.to_frame().loc[rows].mean()
    order = means.abs().sort_values(ascending=False).index
    assert texts(page, "#group th") == list(order)
    shown = page.locator("#group td.number").first.inner_text()
    assert shown.startswith(f"{means[order[0]]:+.3g}"[:5].replace("-", "−"))
    page.get_by_role("button", name="All rows again").click()
    assert not page.locator("#group").is_visible()
    page.get_by_label("Search").fill("row 3")
    assert (
        f"these {len(texts(page, '#table .opener'))} rows" in texts(page, "#group p")[0]
    )


def test_a_line_selects_the_points_that_it_encloses(opened, plain):
    """Two triangles of one line, with the points between them outside."""
    page = opened(plain)
    picture = page.locator("#dependence svg[role=img]").first
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    left, right = box["x"] + 60, box["x"] + box["width"] - 4
    top, bottom = box["y"] + 2, box["y"] + 200
    page.mouse.move(left, top)
    page.mouse.down()
    for corner in ((left, bottom), (right, top), (right, bottom)):
        page.mouse.move(*corner)
    page.mouse.up()
    paths = picture.locator(".dots").evaluate_all("all => all.map(e => e.outerHTML)")
    points = [
        (float(x) + box["x"], float(y) + box["y"])
        for path in paths
        for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", path)
    ]
    shares = [
        ((x - left) / (right - left), (y - top) / (bottom - top)) for x, y in points
    ]
    inside = [min(x, 1 - x) < min(y, 1 - y) for x, y in shares]
    assert len(points) == 40
    assert 5 < sum(inside) < 35
    assert page.locator("#place").inner_text().endswith(f"of {sum(inside)} rows")


def test_labels_and_another_explanation(opened, plain):
    other = replace(plain, values=plain.values[:, ::-1].copy())
    y = plain.predictions + np.arange(len(plain))
    settings = replace(plain.settings, response_method="predict")
    page = opened(replace(plain, settings=settings), y=y, beside=other)
    page.get_by_role("button", name="True value").click()
    assert texts(page, "#table .opener")[0] == plain.index[-1]
    assert "off by 39.0" in texts(page, "#table tbody td")[1]
    row = page.locator("#beside .most button").first
    name = row.inner_text()
    row.click()
    opener = page.get_by_role("button", name=name, exact=True).last
    assert opener.get_attribute("aria-expanded") == "true"
    assert len(texts(page, "#beside .chart tr")) == 6

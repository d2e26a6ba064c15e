"""The panel that computes, in a browser: in a report, and as a widget with a kernel.

Runs if `make test-browser` has installed Playwright and axe.
"""

import json
from urllib.parse import quote

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.neighbors import KNeighborsRegressor

from skshapley import ShapleyExplainer

pytestmark = pytest.mark.slow
N = 300
EVIL = "<img src=x onerror=\"document.title='evil'\">"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    ages = np.append(40, rng.integers(20, 80, N - 1))
    pay = np.where(rng.random(N) < 0.2, np.nan, rng.lognormal(size=N))
    cities = ["Rome", *rng.choice(["Rome", "Oslo", EVIL], N - 1)]
    return pd.DataFrame(
        {
            "age": ages,
            "pay": np.append(1.0, pay[1:]),
            "city_of_birth": pd.Categorical(cities),
        },
        index=[f"row {i}" for i in range(N)],
    )


@pytest.fixture(scope="module")
def explainer(rows):
    target = (rows["age"] / 40 + (rows["city_of_birth"] == "Rome")) > 1.8
    model = LGBMClassifier(n_estimators=20, min_child_samples=5, verbose=-1, n_jobs=1)
    model.fit(rows, np.where(target, "yes", "no"))
    return ShapleyExplainer(model, response_method="log_odds").fit(rows[:80])


@pytest.fixture
def panel(opened, explainer, rows):
    return lambda width=1200, **context: opened(
        explainer.explain(rows[:20]), width, context or None, what_if=explainer
    )


def shown_values(page):
    """Return the numbers of the bars by column."""
    names = page.locator("#what-if .strips th").all_inner_texts()
    numbers = page.locator("#what-if .strips td.number").all_inner_texts()
    numbers = [float(text.split(" ±")[0].replace("−", "-")) for text in numbers]
    return dict(zip([name.split(" = ")[0] for name in names], numbers, strict=True))


def check(page, explainer, row):
    """Check that the panel has the prediction and the values of a row."""
    explanation = explainer.explain(row)
    predictions = json.loads(
        page.locator("#what-if .panel-box").get_attribute("data-drawn")
    )
    assert predictions == pytest.approx(explanation.predictions, rel=1e-9)
    known = explanation.to_frame().iloc[0].to_dict()
    assert shown_values(page) == pytest.approx(known, rel=0.01, abs=1e-5)
    share = 1 / (1 + np.exp(-explanation.predictions[0]))
    shown = page.locator("#what-if .large").inner_text()
    assert float(shown.split()[0]) == pytest.approx(100 * share, abs=0.051)


def test_moves_agree_with_python(panel, explainer, rows):
    """A typed number, a slider by keyboard, a menu, a missing value, undo, and the way back."""
    page = panel()
    row = rows[:1].copy()
    check(page, explainer, row)
    page.get_by_label("age, as a number").fill("70")
    page.get_by_label("age, as a number").press("Enter")
    row["age"] = 70
    check(page, explainer, row)
    page.get_by_label("age", exact=True).press("ArrowRight")
    row["age"] = 71
    check(page, explainer, row)
    page.get_by_label("city_of_birth", exact=True).select_option(label=EVIL)
    row["city_of_birth"] = pd.Categorical([EVIL], rows["city_of_birth"].cat.categories)
    check(page, explainer, row)
    page.get_by_label("pay is missing").check()
    row["pay"] = np.nan
    check(page, explainer, row)
    changed = page.locator("#what-if .input.changed .name").all_inner_texts()
    assert {"age", "city_of_birth"} <= {*changed}
    assert page.title() == "Explanation of LGBMClassifier"
    page.get_by_role("button", name="Undo").click()
    row["pay"] = rows["pay"].iloc[:1]
    check(page, explainer, row)
    page.get_by_role("button", name="Back to the row").click()
    check(page, explainer, rows[:1])


def test_a_link_holds_the_inputs(panel, explainer, rows):
    page = panel()
    page.goto(f"{page.url}#row=row%207&age=99&city_of_birth={quote(EVIL)}")
    row = rows[7:8].copy()
    row["age"] = 99
    row["city_of_birth"] = pd.Categorical([EVIL], rows["city_of_birth"].cat.categories)
    check(page, explainer, row)
    marks = " ".join(page.locator("#what-if .marks").all_inner_texts())
    assert "outside of the background" in marks
    assert "age=99" in page.get_by_role("link", name="Link to").get_attribute("href")


def test_bars_and_probabilities_follow_the_class(opened, rows):
    """Before and after a move."""
    names = np.array(["low", "mid", "high"])[np.digitize(rows["age"], [40, 60])]
    model = LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1).fit(rows, names)
    explainer = ShapleyExplainer(model, response_method="decision_function")
    explainer.fit(rows[:80])
    page = opened(explainer.explain(rows[:20]), what_if=explainer)
    row = rows[:1].copy()
    for age, name in ((40, "mid"), (40, "high"), (75, "high"), (75, "low")):
        page.locator("#output").select_option(label=name)
        page.get_by_label("age, as a number").fill(str(age))
        page.get_by_label("age, as a number").press("Enter")
        row["age"] = age
        explanation = explainer.explain(row).output(name)
        known = explanation.to_frame().iloc[0].to_dict()
        assert shown_values(page) == pytest.approx(known, rel=0.01, abs=1e-5)
        shares = dict(zip(model.classes_, model.predict_proba(row)[0], strict=True))
        headline, classes = page.locator("#what-if .answer p").all_inner_texts()
        assert float(headline.split()[0]) == pytest.approx(
            100 * shares[name], abs=0.051
        )
        assert f"probability of {name}" in headline
        for label, share in shares.items():
            shown = float(classes.split(f"{label}: ")[1].split()[0])
            assert shown == pytest.approx(100 * share, abs=0.051)


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_panel_is_accessible_and_fits_a_phone(width, scheme, panel):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = panel(width, bypass_csp=True, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    results = axe.run(page, context="#what-if")
    assert results.violations_count == 0, results.generate_report()
    page.locator("#what-if .inputs").evaluate("inputs => inputs.scrollIntoView()")
    top = page.locator("#what-if .answer").bounding_box()["y"]
    assert (top == 0) == (width == 400)  # the prediction stays in sight on a phone


HOST = """
<!doctype html><html lang="en"><body><div id="cell"></div><script type="module">
import widget from "data:text/javascript;base64,%s";
const state = %s;
const listeners = [];
const model = {
  get: (name) => state[name],
  set: (name, value) => (state[name] = value),
  on: (event, listener) => listeners.push(listener),
  save_changes: async () => {
    if (!window.kernel) return;
    state.answer = await window.kernel(state.request);
    listeners.forEach((listener) => listener());
  },
};
// as JupyterLab, for its commands
document.addEventListener("keydown", (event) => event.preventDefault());
widget.render({ model, el: document.getElementById("cell") });
</script></body></html>
"""


@pytest.mark.parametrize("alive", [True, False])
def test_the_widget_asks_the_kernel_and_keeps_its_last_state(alive, browser, rows):
    """Sampled values of a model without a closed form."""
    from base64 import b64encode

    table = rows[["age", "pay"]].fillna(1.0)
    model = KNeighborsRegressor().fit(table, table["age"])
    explainer = ShapleyExplainer(
        model, sampler="antithetic", max_rows=200, verbose=False
    )
    widget = explainer.fit(table[:20]).widget(table[:5])
    page = browser.new_page()
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def kernel(request):
        widget.request = request
        return widget.answer

    if alive:
        page.expose_function("kernel", kernel)
    state = {name: getattr(widget, name) for name in ("content", "request", "answer")}
    script = b64encode(widget._esm.encode()).decode()
    page.set_content(HOST % (script, json.dumps(state)))
    page.locator(".large").wait_for()
    assert float(page.locator(".large").inner_text()) == pytest.approx(
        model.predict(table[:1])[0], rel=1e-3
    )
    assert len(page.locator(".strips tr").all()) == 2
    if alive:
        page.get_by_label("age, as a number").fill("30")
        page.get_by_label("age, as a number").blur()
        page.get_by_label("age", exact=True).press("ArrowRight")
        known = model.predict(table[:1].assign(age=31))[0]
        page.wait_for_function(
            f"Math.abs(document.querySelector('.large').textContent - {known}) < 0.01"
        )
        page.locator(".waiting").wait_for(state="detached")
        names = page.locator(".strips th").all_inner_texts()
        assert "age = 31" in names
    page.close()
    assert not wrong

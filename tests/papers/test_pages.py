"""Every test named on the pages of the papers exists."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGES = sorted((TESTS.parent / "doc" / "papers").glob("*.md"))
ERRATA = (TESTS / "papers" / "test_errata.py").read_text(encoding="utf-8")


@pytest.mark.skipif(not PAGES, reason="an installed package has no pages")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_checks_named_on_pages_exist(page):
    """`file.py::name`, `::name` of the file before, or `test_x...` of the errata."""
    text = page.read_text(encoding="utf-8").split("## Errata", 1)[1]
    file, found = ERRATA, 0
    for name in re.findall(r"`([^`\n]*)`", text):
        if "::" in name:
            where, *_, test = name.split("::")
            if where:  # "papers/test_errata.py::TestNotes" names a class
                file = (TESTS / where).read_text(encoding="utf-8")
            assert re.search(rf"(def|class) {test.removesuffix('...')}", file), name
            found += 1
        elif name.startswith("test_") and name.endswith(("...", "variances", "form")):
            assert f"def {name.removesuffix('...')}" in ERRATA, name
            found += 1
        elif name.endswith(".py"):
            assert (TESTS / name).exists() or (TESTS.parent / name).exists(), name
    assert found >= 5


def test_every_check_is_named_on_a_page():
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    known = re.findall(r"(test_\w+)(?=\.\.\.`|`)", pages)
    for name in re.findall(r"def (test_\w+)", ERRATA):
        assert any(name.startswith(start) for start in known), name

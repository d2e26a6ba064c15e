"""The documentation runs, and names everything public."""

import doctest
import importlib
import inspect
import re
import sys
from pathlib import Path
from runpy import run_path
from textwrap import dedent

import matplotlib.pyplot as plt
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import skshapley

ROOT = Path(__file__).parents[1]
DOC = ROOT / "doc"
PAGES = sorted(
    path
    for path in DOC.glob("**/*")
    if path.suffix in {".rst", ".md"}
    and not {"_build", "generated", "auto_examples"} & {*path.parts}
)
# What the box of `doc/_static/house.css` has room for on a screen of 1280 points
CODE_COLUMNS = 100
REFERENCE = run_path(str(DOC / "api_reference.py"))["API"]


def page_id(path):
    return str(path.relative_to(DOC))


LONG = {"guide/many_rows.rst", "guide/conditional.rst"}  # more than two seconds each
# Pages with numbers of forests and boosted trees that scikit-learn 1.9 fits
FITTED = {"guide/forecasting.rst", "guide/other_importances.rst", "guide/reading.rst"}
OTHER_TREES = parse_version(sklearn.__version__) < parse_version("1.9")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=[pytest.mark.slow] * (page_id(p) in LONG), id=page_id(p))
        for p in PAGES
    ],
)
def test_page_runs(page, monkeypatch):
    if page_id(page) in FITTED and OTHER_TREES:
        pytest.skip("older versions of scikit-learn fit other trees")
    monkeypatch.syspath_prepend(
        str(DOC / "extending")
    )  # the tutorials import what they show
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    plt.close("all")
    assert not failed


def test_code_that_pages_show_exists():
    pattern = r"literalinclude:: (\S+)\n(?: +:(?!pyobject).*\n)*(?: +:pyobject: (\S+))?"
    included = [
        (page.parent / path, name)
        for page in PAGES
        for path, name in re.findall(pattern, page.read_text(encoding="utf-8"))
    ]
    assert any(name for _, name in included)
    for path, name in included:
        text = path.read_text(encoding="utf-8")
        assert re.search(rf"^(class|def) {name}\b", text, re.MULTILINE) or not name


def test_page_on_catboost_runs(capsys):
    """Runs only if CatBoost is installed, which the tests do not require."""
    pytest.importorskip("catboost")
    page = (DOC / "guide" / "libraries.rst").read_text(encoding="utf-8")
    block = re.search(r"code-block:: python\n((?:   .*\n|\n)+)", page)[1]
    code = dedent(block)
    exec(code, {})
    assert code.rstrip().endswith(f"# {capsys.readouterr().out.strip()}")


def wide_code(text):
    """Return lines of code and output that are wider than their box."""
    doctests = re.findall(r"^ *>>> .*\n(?: *\S.*\n)*", f"{text}\n", re.M)
    blocks = re.findall(r"^ *\.\. code-block::.*\n((?: +.*\n|\n)*)", f"{text}\n", re.M)
    lines = [line for block in doctests + blocks for line in dedent(block).splitlines()]
    return [line for line in lines if len(line) > CODE_COLUMNS]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.suffix == ".rst"], ids=page_id
)
def test_code_fits_its_box(page):
    assert not wide_code(page.read_text(encoding="utf-8"))


def test_wide_code_is_seen():
    long = "x" * 95
    block = f".. code-block:: text\n\n   {long * 2}\n   {long}\n\n"
    code = f">>> f({long})\n>>> 1\n{long * 2}\n\n{block}"
    assert len(wide_code(f"{long * 2}\n\n{code}{long * 2}\n")) == 3


NOT_PLAIN = re.compile(
    r"\b(whoever|told|of whom|but for|be it|dealt|seldom)\b|^what\b(?!.*\?$)",
    re.IGNORECASE,
)
MOST_WORDS = 30
GUIDE = [
    *(DOC / "guide").glob("*.rst"),
    DOC / "getting_started.rst",
    DOC / "from_shap.rst",
]


def sentences(page):
    """The sentences of a page's plain paragraphs and lists, roles by their text."""
    blocks = [
        block
        for block in re.split(r"\n\s*\n", page)
        if not block.startswith((" ", ">", "."))
    ]
    blocks = [
        block for block in blocks if not re.search(r"^([-=~])\1{2,}|^:", block, re.M)
    ]
    items = [
        item
        for block in blocks
        for item in re.split(r"^(?:- |\d+\. )", block, flags=re.M)
    ]
    for item in items:
        text = re.sub(r":[\w:]+:`([^`<]*)[^`]*`", r"\1", " ".join(item.split()))
        yield from re.split(r"(?<=[.?!:;])\s+", text)


@pytest.mark.parametrize("page", GUIDE, ids=page_id)
def test_guide_is_plain(page):
    found = sentences(page.read_text(encoding="utf-8"))
    assert [
        s for s in found if NOT_PLAIN.search(s) or len(s.split()) > MOST_WORDS
    ] == []


def test_riddles_are_seen():
    page = (
        "Head\n====\n\nShort.\n\n- What is told.\n- What is it?\n\n"
        f">>> {'x ' * 40}\n\nLong {'x ' * 30}.\n"
    )
    found = list(filter(None, sentences(page)))
    assert found[:3] == ["Short.", "What is told.", "What is it?"]
    assert [bool(NOT_PLAIN.search(s)) for s in found] == [False, True, False, False]
    assert len(found[3].split()) > MOST_WORDS


def public_names(module):
    """The public classes and functions of a module; registries and submodules are not listed."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [n for n in dir(module) if not n.startswith("_")]
        names = [
            n
            for n in names
            if getattr(getattr(module, n), "__module__", "") == module.__name__
        ]
    members = {name: getattr(module, name) for name in names}
    return {n for n, m in members.items() if inspect.isclass(m) or inspect.isroutine(m)}


@pytest.mark.parametrize("module", sorted({module for _, _, module, _ in REFERENCE}))
def test_reference_lists_the_public_names(module):
    listed = [name for _, _, of, names in REFERENCE if of == module for name in names]
    public = public_names(importlib.import_module(module))
    assert len(set(listed)) == len(listed)
    missing, gone = sorted(public - {*listed}), sorted({*listed} - public)
    assert not missing, f"doc/api_reference.py lacks {missing} of {module}"
    assert not gone, f"doc/api_reference.py lists {gone}, which {module} does not have"


def test_reference_lists_the_public_modules():
    modules = {"skshapley"}
    for path in (ROOT / "skshapley").iterdir():
        if not path.name.startswith("_") and (
            path.suffix == ".py" or (path / "__init__.py").exists()
        ):
            modules.add(f"skshapley.{path.stem}")
    # explanation.py holds Explanation only, which the root has.
    assert {module for _, _, module, _ in REFERENCE} == modules - {
        "skshapley.explanation"
    }


def cited():
    """First author and year of everything under References in the docstrings of public names."""
    for _, _, module, names in REFERENCE:
        for name in names:
            text = inspect.getdoc(getattr(importlib.import_module(module), name)) or ""
            section = re.search(r"References\n-+\n(.*?)(\n\n\w|\Z)", text, re.S)
            for part in (
                re.split(r"[.;)]\s", " ".join(section[1].split())) if section else ()
            ):
                found = re.match(r"([A-Z][\w'-]+)[^()]* \((\d{4})", part)
                if found:
                    yield found.groups()


def test_references_are_in_the_bibliography():
    entries = (DOC / "references.rst").read_text(encoding="utf-8").split("\n- ")
    known = {
        re.match(r"([\w'-]+).*?\((\d{4})\)", " ".join(entry.split())).groups()
        for entry in entries[1:]
    }
    assert len(set(cited())) > 20
    assert not set(cited()) - known


def test_registries_are_not_listed():
    fake = type(sys)("fake")
    fake.__all__ = ["Explanation", "RATIO"]
    fake.Explanation, fake.RATIO = skshapley.Explanation, 2
    assert public_names(fake) == {"Explanation"}


def test_dangling_links_are_seen(tmp_path):
    check = run_path(str(DOC / "check_links.py"))["check"]
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html#there">b</a><img src="c.png">'
    )
    (tmp_path / "b.html").write_text(
        '<a name="there"></a><a href="a.html#gone">a</a><a href="#here">b</a>'
        '<a href="https://example.org/#far">out</a><a href="a.html#here">a</a>'
    )
    dangling, external = check(tmp_path)
    assert dangling == [
        ("a.html", "c.png"),
        ("b.html", "a.html#gone"),
        ("b.html", "#here"),
    ]
    assert external == {"https://example.org/#far"}


def test_every_folder_of_examples_has_a_header():
    folders = {path.parent for path in (ROOT / "examples").glob("**/plot_*.py")}
    lacking = [
        str(f.relative_to(ROOT))
        for f in folders
        if not (f / "GALLERY_HEADER.rst").exists()
    ]
    assert not lacking, (
        f"the gallery would pass over {lacking}; add a GALLERY_HEADER.rst"
    )


def test_every_picture_is_on_a_page():
    """The build of the documentation runs the scripts of the directives."""
    drawn = set()
    for page in PAGES:
        names = re.findall(r"\.\. plot:: (\S+)", page.read_text(encoding="utf-8"))
        drawn |= {DOC / name for name in names}
    assert drawn == set((DOC / "pictures").glob("*.py"))

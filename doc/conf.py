"""How Sphinx builds the documentation."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
# One thread, as in the tests: the numbers in the gallery then do not depend on the
# machine.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from api_reference import write_api_reference  # noqa: E402
from docutils import nodes  # noqa: E402
from docutils.utils.math.latex2mathml import tex2mathml  # noqa: E402

import skshapley  # noqa: E402
from skshapley._run._plan import Size, auto_rows  # noqa: E402

project = "skshapley"
author = "The skshapley developers"
copyright = "The skshapley developers"
version = release = skshapley.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "myst_parser",
    "matplotlib.sphinxext.plot_directive",
]
# Pictures of pages are drawn by the scripts in doc/pictures, in each build
plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 100)]
myst_enable_extensions = ["dollarmath"]
# Formulas are part of the page: no script, no network.
html_math_renderer = "mathml"
exclude_patterns = ["_build", "_templates", "images", "auto_examples/**.ipynb"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "skshapley"
html_static_path = ["_static"]
html_css_files = ["house.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {
    page: []
    for page in (
        "index",
        "getting_started",
        "from_shap",
        "references",
        "generated/changelog",
    )
}
# The default budget, for up to 64 players and 100 background rows or more
rst_prolog = f".. |default_rows| replace:: {round(auto_rows(Size(64, 100, 100)), -3):,}"
# A name in single backticks is code, and a link where Sphinx knows it.
default_role = "code"

# A reference to a name of ours that is not there is an error (warnings are, in
# `make doc`). Those of other projects lead out of what can be followed offline.
nitpicky = True
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|pandas|collections|typing|sklearn|matplotlib)\..*"),
    (
        r"py:class",
        r"skshapley\._process\..*",
    ),  # a design that only its own solver reads
]
# The docstrings say more of types, with shapes.
autodoc_typehints = "none"

autosummary_generate = True
# Each class page lists its methods by itself; numpydoc's own table would ask for a page
# of each.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "ignore_pattern": r"demo\.py",
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "image_scrapers": ("matplotlib",),
    # A display shows itself by its picture.
    "ignore_repr_types": r"Display|matplotlib|Axes|Figure",
}

write_api_reference(HERE / "generated")


def write_changelog(path):
    """Write what has been released, under what the next release would say."""
    command = [sys.executable, "-m", "towncrier", "build", "--draft"]
    command += ["--version", "Next release", "--date", "to come"]
    run = subprocess.run(
        command, cwd=HERE.parent, capture_output=True, text=True, check=True
    )
    released = (
        (HERE.parent / "CHANGELOG.md").read_text(encoding="utf-8").split("-->")[1]
    )
    text = f"# Changelog\n\n{run.stdout.strip()}\n{released}"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


write_changelog(HERE / "generated" / "changelog.md")


def without_substitutions(app, what, name, obj, options, lines):
    """Let |S| stand for the size of S, as in the papers, and not for a substitution of Sphinx."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "| ", "+-")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "``".join(parts)


def visit_formula(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_displayed_formula(translator, node):
    translator.body += ["<p>", tex2mathml(node.astext(), as_block=True), "</p>"]
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer(
        "mathml", (visit_formula, None), (visit_displayed_formula, None)
    )
    # After numpydoc, which makes the lines.
    app.connect("autodoc-process-docstring", without_substitutions, priority=900)

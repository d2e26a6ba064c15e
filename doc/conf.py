"""How Sphinx builds the documentation."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
# One thread, as in the tests: the numbers in the gallery then do not depend on the machine.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from api_reference import write_api_reference  # noqa: E402

import skshapley  # noqa: E402

project = "skshapley"
author = "The skshapley developers"
copyright = "The skshapley developers"
version = release = skshapley.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx.ext.mathjax",
    "myst_parser",
]
myst_enable_extensions = ["dollarmath"]
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
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {page: [] for page in ("index", "getting_started", "from_shap")}
# A name in single backticks is code, and a link where Sphinx knows it.
default_role = "code"

autosummary_generate = True
# Each class page lists its methods by itself; numpydoc's own table would ask for a page of each.
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


def without_substitutions(app, what, name, obj, options, lines):
    """Let |S| stand for the size of S, as in the papers, and not for a substitution of Sphinx."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", "| ", "+-")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "``".join(parts)


def setup(app):
    # After numpydoc, which makes the lines.
    app.connect("autodoc-process-docstring", without_substitutions, priority=900)

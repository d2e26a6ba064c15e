"""How Sphinx builds the documentation."""

import skshapley

project = "skshapley"
author = "The skshapley developers"
copyright = "The skshapley developers"
version = release = skshapley.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"

autosummary_generate = True
# Each class page lists its methods by itself; numpydoc's own table would ask for a page of each.
numpydoc_show_class_members = False

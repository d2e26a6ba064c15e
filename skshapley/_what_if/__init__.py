"""A model that answers in a page: its parts as JSON, and the script that computes."""

from importlib.resources import files

from skshapley._what_if._model import page_model
from skshapley._what_if._widget import panel_content

# One subject per file, in the order of their dependence
PANEL = ("model.js", "what_if.js", "section.js")
STYLE, SECTION = "what_if.css", "section.html"

__all__ = ["PANEL", "SECTION", "STYLE", "page_model", "page_text", "panel_content"]


def page_text(name: str) -> str:
    """Return a file of the page."""
    return (files("skshapley._what_if") / "page" / name).read_text(encoding="utf-8")

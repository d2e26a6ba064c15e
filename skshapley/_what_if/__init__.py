"""A model that answers in a page: its parts as JSON, and the script that computes."""

import re
from importlib.resources import files

from skshapley._what_if._model import page_model, panel_content

# One subject per file, in the order of their dependence
PANEL = ("model.js", "what_if.js", "section.js")
STYLE = "what_if.css"

__all__ = ["PANEL", "STYLE", "page_model", "page_text", "panel_content"]


def page_text(room: str, name: str) -> str:
    """Return a file of a page, without indentation and lines of comments."""
    file = files("skshapley") / room / "page" / name
    return re.sub(r"(?m)^ *(//.*\n)?", "", file.read_text(encoding="utf-8"))

"""The page around the numbers: one file, which needs nothing else and asks for nothing."""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

# One subject a file, in the order in which they need each other
SCRIPTS = (
    "elements.js",
    "texts.js",
    "charts.js",
    "importance.js",
    "beeswarm.js",
    "dependence.js",
    "interactions.js",
    "waterfall.js",
    "rows.js",
    "main.js",
)


def page(title: str, content: dict[str, Any]) -> str:
    """Return the whole page.

    Its policy lets the browser run this very script and use this very style, and load nothing.

    Parameters
    ----------
    title : str
    content : dict
        What `content` returns.
    """
    # not in one block of the file's scope, where their names would be those of the window
    script = "(() => {\n" + "\n".join(map(_text, SCRIPTS)) + "\n})();"
    style = _text("report.css")
    return Template(_text("report.html")).substitute(
        title=escape(title),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        content=_json(content),
    )


def _text(name: str) -> str:
    return (files("skshapley._report") / "page" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return the name under which a policy allows an inline text."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _json(content: dict[str, Any]) -> str:
    """Return content as JSON that cannot end the element that it stands in, whatever its names."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

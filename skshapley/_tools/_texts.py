"""Texts of objects that are the same in every process."""

import re
from functools import cache
from inspect import Parameter, signature
from typing import Any

from sklearn import get_config
from sklearn.base import BaseEstimator

# Where an object is, in a repr: "<function f at 0x7f3c>", "<Model 0x7f3c>", "Model(0x7f3c)"
ADDRESS = re.compile(r"(?<=\S)( at)? 0x[0-9a-fA-F]{4,}|(?<=[(<=])0x[0-9a-fA-F]{4,}")
BREAK = re.compile(r"\s*\n\s*")
MOST_ELEMENTS = 30  # of a list, as in scikit-learn's own repr


def unaddressed(text: str) -> str:
    """Return a text without the addresses of objects in this process."""
    return ADDRESS.sub("", text)


def model_text(thing: Any) -> str:
    """Return a repr on one line, as scikit-learn writes it.

    Its own takes longer to write than to explain a row.

    Parameters
    ----------
    thing : object
        A model, or a parameter of one.
    """
    kind: Any = type(thing)
    if kind in (list, tuple):
        parts = [model_text(part) for part in thing[:MOST_ELEMENTS]]
        parts += ["..."] if len(thing) > MOST_ELEMENTS else []
        comma = "," if kind is tuple and len(thing) == 1 else ""
        return f"[{', '.join(parts)}]" if kind is list else f"({', '.join(parts)}{comma})"
    if not _is_scikit_learns(kind) or not get_config()["print_changed_only"]:
        return BREAK.sub(" ", repr(thing))
    given = ((name, getattr(thing, name, None), was) for name, was in _defaults(kind))
    changed = [f"{name}={model_text(value)}" for name, value, was in given if _differs(value, was)]
    return f"{kind.__name__}({', '.join(changed)})"


def _is_scikit_learns(kind: type) -> bool:
    own = kind.__module__.startswith("sklearn.") and issubclass(kind, BaseEstimator)
    return own and kind.__repr__ is BaseEstimator.__repr__


@cache
def _defaults(kind: type) -> list[tuple[str, Any]]:
    """Return the names of a class's parameters, in order, and their defaults."""
    parts = signature(kind).parameters.values()
    named = (part for part in parts if part.kind != Parameter.VAR_KEYWORD)
    return sorted((part.name, part.default) for part in named)


def _differs(value: Any, default: Any) -> bool:
    """Return True if the parameter differs from its default."""
    if value is default:
        return False
    if isinstance(value, BaseEstimator) and type(value) is not type(default):
        return True
    return default is Parameter.empty or repr(value) != repr(default)

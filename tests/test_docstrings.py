"""Docstrings of public names follow numpydoc, with the exceptions listed here."""

import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path
from runpy import run_path

import pytest

pytest.importorskip(
    "numpydoc"
)  # a linter: not where the oldest and newest versions are tested
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

REFERENCE = run_path(str(Path(__file__).parents[1] / "doc" / "api_reference.py"))["API"]

NOT_ASKED = {
    "SA01": "not every name has a neighbour worth a See Also",
    "ES01": "one sentence is often enough",
    "EX01": "test_house_rules.py asks for examples, of classes and functions",
    "RT02": "results have names, as in scikit-learn: `explanation : Explanation`",
    "RT03": "... which often say all there is to say",
    "PR07": "so does many a type: `explanation : Explanation`, or a set of choices",
    "PR08": "a symbol of the paper may open a description: `d, at least 2.`",
    "SS02": "... or a summary: `v(S) = ...`",
    "SS05": "takes a noun in the plural for a verb: `Permutations after which ...`",
}


def own_members(cls):
    """The names of a class's own public methods and properties."""
    kinds = (classmethod, staticmethod, property, cached_property)
    for name, member in vars(cls).items():
        if name.startswith("_") or inspect.isclass(getattr(member, "fget", None)):
            # an accessor is a property made of a class, and has the class's docstring
            continue
        if inspect.isfunction(member) or isinstance(member, kinds):
            yield name


def public_names(module, names):
    for name in names:
        yield f"{module}.{name}"
        thing = getattr(importlib.import_module(module), name)
        if inspect.isclass(thing):
            yield from (f"{module}.{name}.{member}" for member in own_members(thing))


def load(name):
    """The class, function or method of a dotted name, and the class that it is a member of."""
    path, last = name.rsplit(".", 1)
    try:
        return getattr(importlib.import_module(path), last), None
    except ImportError:
        owner, _ = load(path)
        return getattr(owner, last), owner


def documented_elsewhere(code, message, name):
    """Return True if the page of a name documents the part that numpydoc misses."""
    thing, owner = load(name)
    bases = [] if owner is None else owner.__mro__[1:]
    if any(name.rsplit(".", 1)[1] in vars(base) for base in bases):
        return code in ("PR01", "RT01")  # the base class documents its hook
    if code == "RT01":
        # one sentence that says what is returned
        return (thing.__doc__ or "").startswith("Return ")
    if code != "PR01":
        return False
    missing = set(re.findall(r"'([^']+)'", message))
    if inspect.isclass(thing):
        # a record documents its fields as attributes, those that it inherits with its
        # base
        bases = [
            base for base in thing.__mro__ if base.__module__.startswith("skshapley")
        ]
        fields = [
            field.name for base in bases for field in get_doc_object(base)["Attributes"]
        ]
        missing -= set(", ".join(fields).split(", "))
    # **kwargs are handed on to what the summary names
    return all(parameter.startswith("*") for parameter in missing)


def complaints(name):
    for code, message in validate(name)["errors"]:
        if code not in NOT_ASKED and not documented_elsewhere(code, message, name):
            yield f"{name}: {code} {message}"


@pytest.mark.parametrize(("module", "names"), [(m, n) for _, _, m, n in REFERENCE])
def test_docstrings(module, names):
    found = [line for name in public_names(module, names) for line in complaints(name)]
    assert not found, "\n" + "\n".join(found)


def test_ignored_codes_are_rules_of_numpydoc():
    assert set(NOT_ASKED) <= set(ERROR_MSGS)


class Careless:
    """A class with an incomplete docstring"""

    def method(self, argument):
        """Double a number.

        Parameters
        ----------
        arguments : int
            The number.
        """
        return 2 * argument


def test_careless_docstrings_are_seen(monkeypatch):
    monkeypatch.setattr("skshapley.Careless", Careless, raising=False)
    names = public_names("skshapley", ["Careless"])
    codes = [line.split()[1] for name in names for line in complaints(name)]
    assert codes == ["SS03", "PR01", "PR02", "RT01"]

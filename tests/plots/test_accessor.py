"""The methods of `explanation.plot` and their help."""

import inspect
import re

import pytest

from skshapley.plots import PlotAccessor

METHODS = [name for name in vars(PlotAccessor) if not name.startswith("_")]


@pytest.mark.parametrize("name", METHODS)
def test_help_describes_the_parameters_of_the_method(name):
    method = getattr(PlotAccessor, name)
    _, _, text = inspect.getdoc(method).partition("Parameters\n----------\n")
    section, _, _ = text.partition("\n\nReturns\n")
    entries = re.findall(r"^(\w[\w, ]*) : .+\n {4}\w", section, flags=re.MULTILINE)
    documented = [parameter for entry in entries for parameter in entry.split(", ")]
    assert ["self", *documented] == [*inspect.signature(method).parameters]
    assert section.startswith(documented[0])  # no text of the removed parameter

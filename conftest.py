"""What every test and doctest of the project starts from."""

import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

# Workers import the functions of a test by the name of its module, `tests.test_...`.
# Last on the path, so that an installed package is tested and not the sources beside
# this file.
sys.path.append(str(Path(__file__).parent))

# No window ever opens during tests, on a desktop either.
os.environ.setdefault("MPLBACKEND", "Agg")

# Bytecode is kept whatever the shell says: the tests start some sixty interpreters and
# workers, and each would compile for four seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Examples are not judged by the clock. Each run draws the same ones, but for the slow
# tests.
settings.register_profile("skshapley", deadline=None, derandomize=True, database=None)
settings.load_profile("skshapley")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave to `make test-slow` the cases that a test marked as thinned can do without."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("thinned") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for alike in cases.values():
        for item in without(alike):
            item.add_marker("slow")


def without(cases):
    """Cases that show no value of a parameter that others do not show, each about as often."""
    values = {case: shown(case) for case in cases}
    times = dict.fromkeys(set().union(*values.values()), 0)
    left = list(cases)
    while not all(times.values()):
        best = min(
            left, key=lambda case: sorted(times[value] for value in values[case])
        )
        times.update((value, times[value] + 1) for value in values[best])
        left.remove(best)
    return left


def shown(case):
    """The values of a case's parameters: names and numbers that are equal, the same objects."""
    given = case.callspec.params.items()
    plain = (str, int, float)
    return {(name, repr(it) if isinstance(it, plain) else id(it)) for name, it in given}


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a test or doctest has drawn: matplotlib warns of more than twenty figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")

"""What every test and doctest of the project starts from."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# Workers import the functions of a test by the name of its module, `tests.test_...`. Last on the
# path, so that an installed package is tested and not the sources beside this file.
sys.path.append(str(Path(__file__).parent))

# No window ever opens during tests, on a desktop either.
os.environ.setdefault("MPLBACKEND", "Agg")

# Bytecode is kept whatever the shell says: the tests start some sixty interpreters and workers, and
# each would compile for four seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Examples are not judged by the clock. Everything else follows hypothesis' own profile, which
# in CI draws the same examples each time.
settings.register_profile("skshapley", deadline=None)
settings.load_profile("skshapley")


@pytest.fixture(autouse=True)
def closed_figures():
    """Close what a test or doctest has drawn: matplotlib warns of more than twenty figures."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")

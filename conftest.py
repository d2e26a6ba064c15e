"""What every test and doctest of the project starts from."""

import os

from hypothesis import settings

# No window ever opens during tests, on a desktop either.
os.environ.setdefault("MPLBACKEND", "Agg")

# Examples are not judged by the clock. Everything else follows hypothesis' own profile, which
# in CI draws the same examples each time.
settings.register_profile("skshapley", deadline=None)
settings.load_profile("skshapley")

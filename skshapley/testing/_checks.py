"""Tools of all contracts: tables of checks, comparisons, and functions that count their calls."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Checks = dict[str, Callable[..., None]]


def checks_named(prefix: str, module: Mapping[str, Any]) -> Checks:
    """Return the functions of a module with names that begin with `prefix`, by the rest of each.

    Parameters
    ----------
    prefix : str
        Such as "check_game_".
    module : mapping
        The module's ``globals()``.
    """
    return {
        name.removeprefix(prefix).replace("_", " "): value
        for name, value in module.items()
        if name.startswith(prefix)
    }


def run_checks(checks: Checks, skip: Container[str], *subjects: Any) -> None:
    """Call the checks of a contract that are not skipped."""
    for name, check in checks.items():
        if name not in skip:
            check(*subjects)


def assert_equal(found: Any, expected: Any, what: str, atol: float = 0.0) -> None:
    """Raise AssertionError unless both are None, or agree up to `atol`, NaN included."""
    assert (found is None) == (expected is None), f"{what}: None or not"
    if found is not None:
        np.testing.assert_allclose(
            found,
            expected,
            rtol=0,
            atol=atol,
            err_msg=f"{what} differs",
        )


def assert_unchanged(component: Any, before: dict[str, Any], what: str) -> None:
    """Raise AssertionError if parameters changed; arrays must be the same objects."""
    for name, value in component.get_params().items():
        # Identity comes first: the comparison of two arrays has no single truth value.
        assert value is before[name] or value == before[name], f"{what} changed {name}"


@dataclass
class Counted:
    """A function of rows, which counts them.

    Parameters
    ----------
    function : callable
    """

    function: Callable[[Any], np.ndarray]
    n: int = 0

    def __call__(self, rows: Any) -> np.ndarray:
        """Count the rows, and call the function."""
        self.n += len(rows)
        return self.function(rows)

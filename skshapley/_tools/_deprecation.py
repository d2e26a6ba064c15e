"""What will be gone: it goes on working, and warns, for two minor releases.

The policy is in CONTRIBUTING.md. A test fails once a release comes that something should be gone
from, so that nothing is kept for longer either.
"""

import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

LEAST_MINOR_RELEASES = 2

Object = TypeVar("Object", bound=Callable[..., Any])


@dataclass(frozen=True)
class Deprecation:
    """Something that will be gone, and what to use instead.

    Parameters
    ----------
    what : str
        As users know it, such as "shapley_values" or "ShapleyExplainer's parameter n_evals".
    instead : str
        What to do, as an imperative: "use max_rows".
    since, until : str
        The first release that warns, and the first one without it: "0.3" and "0.5".

    Raises
    ------
    ValueError
        If less than two minor releases lie between the two.
    """

    what: str
    instead: str
    since: str
    until: str

    def __post_init__(self) -> None:
        (major, minor), (last_major, last_minor) = numbers(self.since), numbers(self.until)
        if last_major == major and last_minor < minor + LEAST_MINOR_RELEASES:
            raise ValueError(
                f"{self.what} is deprecated since={self.since!r} with until={self.until!r}: give"
                f" users {LEAST_MINOR_RELEASES} minor releases."
            )
        DEPRECATIONS.append(self)

    def warn(self, stacklevel: int = 3) -> None:
        """Warn whoever called the caller."""
        message = (
            f"{self.what} is deprecated since {self.since} and will be gone in {self.until}:"
            f" {self.instead}."
        )
        warnings.warn(message, FutureWarning, stacklevel=stacklevel)


# All of them, for the test that none stays longer than it says
DEPRECATIONS: list[Deprecation] = []


def numbers(version: str) -> tuple[int, int]:
    """Return the major and the minor number of a version."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def deprecated(instead: str, *, since: str, until: str) -> Callable[[Object], Object]:
    """Decorate a function, a method or a class that will be gone.

    Parameters
    ----------
    instead, since, until : str
        As in `Deprecation`.
    """

    def decorate(target: Object) -> Object:
        deprecation = Deprecation(target.__qualname__, instead, since, until)
        if inspect.isclass(target):
            made = target.__init__

            @functools.wraps(made)
            def init(self: Any, *args: Any, **kwargs: Any) -> None:
                deprecation.warn()
                made(self, *args, **kwargs)

            target.__init__ = init  # type: ignore[method-assign]
            return target

        @functools.wraps(target)
        def function(*args: Any, **kwargs: Any) -> Any:
            deprecation.warn()
            return target(*args, **kwargs)

        return function  # type: ignore[return-value]

    return decorate


def renamed(old: str, new: str, *, since: str, until: str) -> Callable[[Object], Object]:
    """Decorate a function, or an ``__init__``, of which a parameter has a new name.

    Keyword arguments by the old name are passed on by the new one, with a warning. The signature
    knows the new name alone, as do ``get_params`` and ``clone``.

    Parameters
    ----------
    old, new : str
        Names of the parameter.
    since, until : str
        As in `Deprecation`.
    """

    def decorate(target: Object) -> Object:
        owner = target.__qualname__.removesuffix(".__init__")
        what = f"{owner}'s parameter {old}"
        deprecation = Deprecation(what, f"use {new}", since, until)

        @functools.wraps(target)
        def function(*args: Any, **kwargs: Any) -> Any:
            if old in kwargs:
                if new in kwargs:
                    raise TypeError(f"{owner} got both {new} and {old}, its old name: pass {new}.")
                deprecation.warn()
                kwargs[new] = kwargs.pop(old)
            return target(*args, **kwargs)

        return function  # type: ignore[return-value]

    return decorate

"""Parameters given by name or object, and optional packages."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, TypeVar

from sklearn.base import BaseEstimator, clone

from skshapley._tools._texts import ALGORITHMS, suggested

T = TypeVar("T")


def resolve(
    value: Any,
    registry: Mapping[str, type[T]],
    base: type[Any],
    owner: str,
    parameter: str,
) -> T:
    """Return a fresh object for a name, or a clone of an instance of `base`.

    Other packages add names as entry points of the group "skshapley.samplers" (solvers,
    rewards).

    Parameters
    ----------
    value : str or instance of `base`
    registry : mapping of str to class
        The names of this package.
    base : type
    owner, parameter : str
        Owner of the parameter, for the error.

    Returns
    -------
    component : instance of `base`

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For a class instead of an instance, or any other object.
    """
    # The package's names come first, so that an installed package cannot replace them
    # by accident.
    if isinstance(value, str) and value in registry:
        return registry[value]()
    if isinstance(value, base):
        return clone(value) if isinstance(value, BaseEstimator) else value
    points = installed(f"{parameter}s")
    if isinstance(value, str) and value in points:
        return points[value].load()()
    names = sorted({*registry, *points})
    choices = ", ".join(repr(name) for name in names)
    if isinstance(value, str):
        instead = f"; {ALGORITHMS[value]}" if value in ALGORITHMS else ""
        raise ValueError(
            f"{owner} has no {parameter} named {value!r}{suggested(value, names)}: "
            f"choose one of {choices}, or pass an instance of {base.__name__}{instead}."
        )
    write = f"; write {value.__name__}()" if isinstance(value, type) else ""
    raise TypeError(
        f"{owner} takes {parameter} as one of {choices}, or an instance of "
        f"{base.__name__}; got {value!r}{write}."
    )


@cache
def installed(group: str) -> dict[str, EntryPoint]:
    """Return the components of other packages, by the names of their entry points."""
    return {point.name: point for point in entry_points(group=f"skshapley.{group}")}


def needed(package: str, owner: str, extra: str | None = None) -> ModuleType:
    """Return an optional package.

    Parameters
    ----------
    package : str
    owner : str
        The component that needs it, for the error.
    extra : str, default=None
        The extra of skshapley that installs it. None: it is installed by its own name.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        name = package if extra is None else f'"skshapley[{extra}]"'
        raise ImportError(
            f"{owner} needs {package}, which is not installed; install it with: pip "
            f"install {name}."
        ) from error

"""Parameters: given by name or object, and their constraints; optional packages."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from math import inf, isfinite
from numbers import Integral, Real
from types import ModuleType
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

from skshapley._tools._texts import ALGORITHMS, suggested


class Constraint:
    """The valid values of a parameter.

    Parameters
    ----------
    allows : callable
        Returns True if a value is valid.
    choices : str
        The valid values in words, to end the phrase "takes max_evals as ...".
    hint : str, default=""
        A remedy, for the end of the error's sentence.
    error : type, default=ValueError
        The class of the error.
    """

    def __init__(
        self,
        allows: Callable[[Any], bool],
        choices: str,
        *,
        hint: str = "",
        error: type[Exception] = ValueError,
    ) -> None:
        self.allows, self.choices, self.hint, self.error = allows, choices, hint, error


class OneOf(Constraint):
    """A name of a list.

    Parameters
    ----------
    names : tuple of str
    **more : dict
        Parameters of `Constraint`, such as ``hint``.
    """

    def __init__(self, names: tuple[str, ...], **more: Any) -> None:
        choices = "one of " + ", ".join(f'"{name}"' for name in names)
        super().__init__(
            lambda value: isinstance(value, str) and value in names, choices, **more
        )


class Flag(Constraint):
    """True or False, and no equivalent numbers."""

    def __init__(self) -> None:
        super().__init__(
            lambda value: isinstance(value, bool | np.bool_), "True or False"
        )


class Count(Constraint):
    """An int of at least `least`; True is not an int here.

    Parameters
    ----------
    least : int, default=1
    **more : dict
        Parameters of `Constraint`, such as ``hint``.
    """

    def __init__(self, least: int = 1, **more: Any) -> None:
        self.least = least
        choices = "a positive int" if least == 1 else f"an int of at least {least}"
        super().__init__(
            lambda value: (
                isinstance(value, Integral)
                and not isinstance(value, bool)
                and int(value) >= least
            ),
            choices,
            **more,
        )


class Number(Constraint):
    """A finite number between bounds.

    Parameters
    ----------
    above : float, default=-inf
        Lower bound that the number must not reach.
    least : float, default=-inf
        Lower bound that the number may reach.
    below : float, default=inf
        Upper bound that the number must not reach.
    **more : dict
        Parameters of `Constraint`, such as ``hint``.
    """

    def __init__(
        self, above: float = -inf, least: float = -inf, below: float = inf, **more: Any
    ) -> None:
        self.above, self.least, self.below = above, least, below
        words = {"above": above, "of at least": least, "below": below}
        bounds = " and ".join(
            f"{word} {end:g}" for word, end in words.items() if isfinite(end)
        )
        choices = "a positive number" if bounds == "above 0" else f"a number {bounds}"
        super().__init__(self._holds, choices, **more)

    def _holds(self, value: Any) -> bool:
        if (
            not isinstance(value, Real)
            or isinstance(value, bool)
            or not isfinite(value)
        ):
            return False
        return self.above < float(value) < self.below and float(value) >= self.least


class Maybe(Constraint):
    """None, or a value that another constraint allows.

    Parameters
    ----------
    other : Constraint
    **more : dict
        Parameters of `Constraint`, such as ``hint``.
    """

    def __init__(self, other: Constraint, **more: Any) -> None:
        self.other = other
        choices = f"None or {other.choices}"
        super().__init__(
            lambda value: value is None or other.allows(value), choices, **more
        )


class Parametrised(BaseEstimator):
    """Base class of parameter objects: samplers, solvers, rewards, stopping rules.

    Attributes
    ----------
    _constraints : mapping of str to Constraint
        The valid values of each parameter.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    # Without it, each repr by scikit-learn parses the text signature of `object`, which
    # is slow and leaves cycles of references.
    def __init__(self) -> None:
        """Take no parameters; subclasses with parameters have their own."""

    def check(self) -> None:
        """Raise ValueError for invalid parameters, before any evaluation.

        Raises
        ------
        ValueError
            For an invalid type or value of a parameter.
        """
        check_parameters(self, self._constraints)
        self._check_together()

    def _check_together(self) -> None:
        """Raise ValueError for parameters that are valid separately but not together."""


def check_parameters(owner: object, constraints: Mapping[str, Constraint]) -> None:
    """Raise ValueError for the first invalid attribute of `owner`.

    Parameters
    ----------
    owner : object
        An object with an attribute for each constraint.
    constraints : mapping of str to Constraint

    Raises
    ------
    ValueError
        One sentence with the owner, the parameter, its valid values, its value, and the
        hint.
    """
    parameters = {name: getattr(owner, name) for name in constraints}
    check_values(type(owner).__name__, parameters, constraints)


def check_values(
    owner: str, given: Mapping[str, Any], constraints: Mapping[str, Constraint]
) -> None:
    """Raise ValueError for the first invalid value.

    Parameters
    ----------
    owner : str
        Owner of the parameters, for the error.
    given : mapping of str to value
    constraints : mapping of str to Constraint
        Values without a constraint pass.
    """
    for name, value in given.items():
        constraint = constraints.get(name)
        if constraint is not None and not constraint.allows(value):
            hint = f": {constraint.hint}" if constraint.hint else ""
            raise constraint.error(
                f"{owner} takes {name} as {constraint.choices}; got {value!r}{hint}."
            )


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

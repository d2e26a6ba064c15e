"""Constraints of parameters: declared as data beside the class, checked before any work."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from inspect import signature
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class Constraint(ABC):
    """Base of all constraints.

    Attributes
    ----------
    hint : str
        A remedy, for the end of the error's sentence.
    error : type
        The class of the error.
    """

    hint: str = field(default="", kw_only=True)
    error: type[Exception] = field(default=ValueError, kw_only=True)

    @property
    @abstractmethod
    def choices(self) -> str:
        """The choices in words, to end the phrase "takes max_evals as ..."."""

    @abstractmethod
    def allows(self, value: Any) -> bool:
        """Return True if a value is valid."""


@dataclass(frozen=True)
class OneOf(Constraint):
    """One of some names."""

    names: tuple[str, ...]

    @property
    def choices(self) -> str:
        """The names."""
        return "one of " + ", ".join(f'"{name}"' for name in self.names)

    def allows(self, value: Any) -> bool:
        """Return whether it is one of the names."""
        return isinstance(value, str) and value in self.names


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False, and nothing that merely counts as either."""

    @property
    def choices(self) -> str:
        """The phrase "True or False"."""
        return "True or False"

    def allows(self, value: Any) -> bool:
        """Return whether it is a bool."""
        return isinstance(value, bool | np.bool_)


@dataclass(frozen=True)
class Count(Constraint):
    """An int of at least `least`; True is no count."""

    least: int = 1

    @property
    def choices(self) -> str:
        """The least valid int."""
        return "a positive int" if self.least == 1 else f"an int of at least {self.least}"

    def allows(self, value: Any) -> bool:
        """Return True for such an int."""
        if not isinstance(value, Integral) or isinstance(value, bool):
            return False
        return int(value) >= self.least


@dataclass(frozen=True)
class Number(Constraint):
    """A finite number above `above`, or from `least` on, and below `below`."""

    above: float = -inf
    least: float = -inf
    below: float = inf

    @property
    def choices(self) -> str:
        """The bounds."""
        bounds = [
            f"{word} {bound:g}"
            for word, bound in (
                ("above", self.above),
                ("of at least", self.least),
                ("below", self.below),
            )
            if isfinite(bound)
        ]
        return "a positive number" if bounds == ["above 0"] else "a number " + " and ".join(bounds)

    def allows(self, value: Any) -> bool:
        """Return whether it is a number within the bounds."""
        if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
            return False
        number = float(value)
        return self.above < number < self.below and number >= self.least


@dataclass(frozen=True)
class Maybe(Constraint):
    """None, or a value that another constraint allows."""

    other: Constraint

    @property
    def choices(self) -> str:
        """None, or the other's."""
        return f"None or {self.other.choices}"

    def allows(self, value: Any) -> bool:
        """Return True for None and for values that the other constraint allows."""
        return value is None or self.other.allows(value)


@dataclass(frozen=True)
class Named(Constraint):
    """A name of a registry, or an instance of the registry's base class."""

    registry: Mapping[str, type]
    base: type

    @property
    def choices(self) -> str:
        """The names and the class."""
        names = ", ".join(f'"{name}"' for name in sorted(self.registry))
        return f"one of {names}, or an instance of {self.base.__name__}"

    def allows(self, value: Any) -> bool:
        """Return whether it is a known name or such an instance."""
        return isinstance(value, self.base) or (isinstance(value, str) and value in self.registry)


@dataclass(frozen=True)
class Fitting(Constraint):
    """Values accepted by a function."""

    test: Callable[[Any], bool]
    description: str

    @property
    def choices(self) -> str:
        """The description."""
        return self.description

    def allows(self, value: Any) -> bool:
        """Return the answer of the function."""
        return bool(self.test(value))


class Parametrised(BaseEstimator):
    """Base class of parameter objects: samplers, solvers, rewards, stopping rules.

    Attributes
    ----------
    _constraints : mapping of str to Constraint
        The valid values of each parameter.
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    def __repr__(self, *args: Any) -> str:
        # of no __init__ scikit-learn's repr has `inspect` parse the text signature of `object`,
        # which leaves cycles of references behind, one with every batch; and every explanation
        # tells its methods, which mostly have their defaults
        kind: Any = type(self)
        given, defaults = vars(self), _defaults(kind)
        plain = all(given.get(name, self) is default for name, default in defaults.items())
        if plain and (not defaults or get_config()["print_changed_only"]):
            return f"{type(self).__name__}()"
        return super().__repr__(*args)

    def check(self) -> None:
        """Refuse wrong parameters, before anything is evaluated.

        Raises
        ------
        ValueError
            For a parameter of another type or with another value than those allowed.
        """
        check_parameters(self, self._constraints)
        self._check_together()

    def _check_together(self) -> None:
        """Refuse parameters that are valid by themselves but not together."""


@cache
def _defaults(kind: type) -> dict[str, Any]:
    """Return the defaults of a class's parameters, `Parameter.empty` of those that have none."""
    if kind.__init__ is object.__init__:  # type: ignore[misc]
        return {}
    return {name: part.default for name, part in signature(kind).parameters.items()}


def check_parameters(owner: object, constraints: Mapping[str, Constraint]) -> None:
    """Refuse the first attribute of `owner` that its constraint does not allow.

    Parameters
    ----------
    owner : object
        Has an attribute for each constraint.
    constraints : mapping of str to Constraint

    Raises
    ------
    ValueError
        One sentence with the owner, the parameter, its valid values, its value, and the hint.
    """
    given = {name: getattr(owner, name) for name in constraints}
    check_values(type(owner).__name__, given, constraints)


def check_values(
    owner: str, given: Mapping[str, Any], constraints: Mapping[str, Constraint]
) -> None:
    """Refuse the first value that its constraint does not allow.

    Parameters
    ----------
    owner : str
        Owner of the parameters, for the error.
    given : mapping of str to value
    constraints : mapping of str to Constraint
        Values without one pass.
    """
    for name, value in given.items():
        constraint = constraints.get(name)
        if constraint is not None and not constraint.allows(value):
            hint = f": {constraint.hint}" if constraint.hint else ""
            raise constraint.error(
                f"{owner} takes {name} as {constraint.choices}; got {value!r}{hint}."
            )

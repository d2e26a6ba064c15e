"""Constraints of parameters: declared as data beside the class, checked before any work."""

from collections.abc import Callable, Mapping
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator


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

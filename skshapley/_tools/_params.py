"""Parameters: by name or object, their constraints, and errors that correct slips."""

import inspect
import re
from abc import ABCMeta
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, wraps
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from math import inf, isfinite
from numbers import Integral, Real
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, clone

# Memory address in a repr: "<function f at 0x7f3c>", "<Model 0x7f3c>", "Model(0x7f3c)"
ADDRESS = re.compile(r"(?<=\S)( at)? 0x[0-9a-fA-F]{4,}|(?<=[(<=])0x[0-9a-fA-F]{4,}")


def unaddressed(text: str) -> str:
    """Return a text without the addresses of objects in this process."""
    return ADDRESS.sub("", text)


def counted(n: int, noun: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


P = ParamSpec("P")
R = TypeVar("R")

# Common names of budgets
BUDGETS = (
    "nsamples",
    "n_samples",
    "num_samples",
    "budget",
    "npermutations",
    "n_permutations",
    "n_iter",
    "n_iterations",
)
# Common names of parameters in other libraries. Among several, the first valid one is
# suggested.
PARAMETERS: dict[str, tuple[str, ...]] = {
    "estimator": ("model", "clf", "predictor", "f"),
    "background": ("data", "masker", "X", "X_train", "background_data", "reference"),
    "X": ("data", "X_train", "X_test", "df", "rows", "background"),
    "response_method": ("model_output", "link", "output_type"),
    "output": ("class_", "class_index", "class_name", "classes", "label", "target"),
    "max_background": ("background_size", "n_background"),
    "random_state": ("seed", "random_seed", "rng"),
    "max_rows": ("max_evals", *BUDGETS),
    "max_evals": ("max_rows", *BUDGETS),
    "n_jobs": ("njobs", "n_workers", "n_cpus"),
    "reward": ("feature_perturbation", "perturbation", "imputer", "value_function"),
    "sampler": ("approximator", "method"),
    "groups": ("feature_groups", "partition_tree", "coalitions"),
    "interactions": ("max_order", "interaction", "interaction_index"),
    "verbose": ("silent", "progress", "show_progress"),
    "max_features": ("max_display", "n_features", "num_features", "top", "k"),
    "row": ("index", "idx", "ind", "instance", "sample", "i"),
    "features": ("feature", "ind", "column", "name"),
    "partner": ("interaction_index", "color", "color_by", "colour"),
    "ax": ("axes", "axis"),
}
# Common names of values in other libraries
VALUES = {
    **dict.fromkeys(("probability", "probabilities", "proba"), "predict_proba"),
    **dict.fromkeys(("logit", "margin", "raw", "logodds", "log-odds"), "log_odds"),
    "identity": "predict",
    "marginal": "interventional",
    "observational": "conditional",
    **dict.fromkeys(("mean", "median", "zeros"), "baseline"),
    **dict.fromkeys(("permutation", "permutations"), "antithetic"),
    **dict.fromkeys(("kernelshap", "kernel_shap"), "kernel"),
    **dict.fromkeys(("sampling", "montecarlo"), "monte-carlo"),
}
# Names of shap's algorithms that are no samplers here
ALGORITHMS = {
    **dict.fromkeys(
        ("tree", "linear", "additive", "gam"),
        "leave it out: values of trees and linear terms are exact without a sampler",
    ),
    **dict.fromkeys(
        ("deep", "gradient"),
        "leave it out: neural networks are sampled by default",
    ),
}
# Replacements of parameters that do not exist
INSTEAD = {
    "show": "the picture is drawn and returned: keep it by .figure_.savefig('picture.png')",
    "feature_names": "names come from the columns: pass DataFrames",
    "title": "titles are matplotlib's: .ax_.set_title(...)",
    "algorithm": "leave it out: values are exact wherever they can be",
    "figsize": "sizes are matplotlib's: .figure_.set_size_inches(width, height)",
    "class_names": "names of classes are the labels that the classifier was fitted on",
    **dict.fromkeys(
        ("features", "columns", "cols"),
        "choose among them afterwards: explanation[:, ['age']]",
    ),
    **dict.fromkeys(
        ("tol", "tolerance", "precision", "epsilon", "atol", "rtol"),
        "pass stopping=skshapley.stopping.StandardError(rtol=0.05)",
    ),
    **dict.fromkeys(
        ("max_time", "timeout", "time_limit"),
        "time grows with max_rows: pass a smaller one",
    ),
    **dict.fromkeys(("batch_size", "chunk_size"), "leave it out: memory is bounded"),
    **dict.fromkeys(("parallel", "n_threads", "nthread"), "pass n_jobs=-1"),
    **dict.fromkeys(
        ("gpu", "device"),
        "leave it out: the model runs on its own device",
    ),
    "approximate": "leave it out: values are exact wherever they can be",
    "check_additivity": "leave it out: values add up, and explanation.efficiency_gap shows it",
}
# Methods without parameters of their own
CALLS = ("fit", "explain", "__call__", "transform")
DRAWN = ("row", "max_features", "ax")  # parameters of pictures
LONGEST_VALUE = 30  # largest number of letters of a value in a message


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the most similar known name, or None."""
    return next(iter(get_close_matches(str(name), list(known), n=1, cutoff=0.6)), None)


def suggested(value: object, known: Iterable[str]) -> str:
    """Return " (did you mean ...?)" for the value of a parameter, or ""."""
    names = list(known)
    meant = VALUES.get(str(value))
    meant = meant if meant in names else nearest(str(value), names)
    return f" (did you mean {meant!r}?)" if meant else ""


def corrected(call: Callable[P, R], owner: str = "") -> Callable[P, R]:
    """Return a function or method with errors that suggest the right arguments.

    Its signature is unchanged, for help, completion and scikit-learn. `owner` is its
    name in messages, by default its own.
    """
    signature = inspect.signature(call)
    owner = owner or call.__qualname__.removesuffix(".__init__")

    @wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except TypeError:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(
                    _sentence(owner, list(signature.parameters), kwargs, error)
                ) from None
            raise  # the arguments fit: the call itself failed

    return checked


def _sentence(
    owner: str,
    names: list[str],
    given: Mapping[str, object],
    error: TypeError,
) -> str:
    parameters = [name for name in names if name not in ("self", "explanation")]
    wrong = next((name for name in given if name not in parameters), None)
    if wrong is None and "missing" in str(error) and "'estimator'" in str(error):
        return (
            f"{owner} needs the fitted model as its first argument: "
            f"{owner}(model).fit(X_train).explain(X)."
        )
    if wrong is None and owner.endswith(".explain") and "too many" in str(error):
        return f"{owner} takes rows only, without a target: {owner}(X)."
    if wrong is None:
        hint = "; pass all but the first by name" if "too many" in str(error) else ""
        return f"{owner}({', '.join(parameters)}): {error}{hint}."
    if wrong in INSTEAD:
        return f"{owner} takes no {wrong}; {INSTEAD[wrong]}."
    meant = [
        name_here
        for name_here, names_elsewhere in PARAMETERS.items()
        if wrong in (name_here, *names_elsewhere)
    ]
    valid_name = next(
        (name_here for name_here in meant if name_here in parameters),
        None,
    ) or nearest(wrong, parameters)
    right = valid_name or next(iter(meant), None)
    if right is None or (valid_name is None and owner.partition(".")[2] not in CALLS):
        return f"{owner} takes no {wrong}: choose among {', '.join(parameters)}."
    value = given[wrong]
    text = repr(VALUES.get(value, value) if isinstance(value, str) else value)
    plain = (
        right not in ("max_rows", "max_evals")
        and len(text) <= LONGEST_VALUE
        and "\n" not in text
    )
    call = f"{right}={text if plain else '...'}"
    if valid_name is None:
        taker = (
            "explanation.plot.waterfall" if right in DRAWN else owner.partition(".")[0]
        )
        return f"{owner} takes no {wrong}: pass {call} to {taker}."
    return f"{owner} takes no {wrong}: did you mean {call}?"


# scikit-learn's checks look for names of columns, which only frames have
_attributes = cache(dir)


class HintingClass(ABCMeta):
    """Metaclass of `Hinting`: errors of the class itself."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> object:
            raise AttributeError(
                absent(cls.__name__, name, cls._instead, dir(cls)),
                name=name,
                obj=cls,
            )


class Hinting(metaclass=HintingClass):
    """Base class with errors that suggest the right attribute."""

    # Names elsewhere, and ours
    _instead: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            owner = type(self).__name__
            attributes = _attributes(type(self))
            if name in attributes:  # a property that needs `fit`
                text = f"{owner} has no {name} yet: call fit(X_train) first."
            else:
                text = absent(owner, name, self._instead, [*attributes, *self.__dict__])
            raise AttributeError(text, name=name, obj=self)


def absent(
    owner: str,
    name: str,
    instead: Mapping[str, str],
    known: Iterable[str],
) -> str:
    """Return the message for an unknown attribute.

    Parameters
    ----------
    owner, name : str
    instead : mapping of str to str
        Replacements of common names in other libraries.
    known : iterable of str
        The existing attributes.
    """
    if name.endswith("_") and name not in instead:  # scikit-learn asks in each fit
        return f"{owner} has no {name!r}."
    # An attribute with a default is known by the class and by the object.
    names = dict.fromkeys(known)
    public = [attribute for attribute in names if not attribute.startswith("_")]
    if meant := instead.get(name) or nearest(name, public):
        return f"{owner} has no {name!r}: use {meant}."
    choices = "" if name.startswith("_") else f": choose among {', '.join(public)}"
    return f"{owner} has no {name!r}{choices}."


@dataclass(eq=False)
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

    allows: Callable[[Any], bool]
    choices: str
    hint: str = field(default="", kw_only=True)
    error: type[Exception] = field(default=ValueError, kw_only=True)


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
            lambda value: isinstance(value, str) and value in names,
            choices,
            **more,
        )


class Flag(Constraint):
    """True or False, and no equivalent numbers."""

    def __init__(self) -> None:
        super().__init__(
            lambda value: isinstance(value, bool | np.bool_),
            "True or False",
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
        self,
        above: float = -inf,
        least: float = -inf,
        below: float = inf,
        **more: Any,
    ) -> None:
        self.above = above
        self.least = least
        self.below = below
        words = {"above": above, "of at least": least, "below": below}
        bounds = " and ".join(
            f"{word} {end:g}" for word, end in words.items() if isfinite(end)
        )
        super().__init__(
            lambda value: (
                isinstance(value, Real)
                and not isinstance(value, bool)
                and isfinite(value)
                and above < float(value) < below
                and float(value) >= least
            ),
            "a positive number" if bounds == "above 0" else f"a number {bounds}",
            **more,
        )


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
        super().__init__(
            lambda value: value is None or other.allows(value),
            f"None or {other.choices}",
            **more,
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
    check_values(
        type(owner).__name__,
        {name: getattr(owner, name) for name in constraints},
        constraints,
    )


def check_values(
    owner: str,
    given: Mapping[str, Any],
    constraints: Mapping[str, Constraint],
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

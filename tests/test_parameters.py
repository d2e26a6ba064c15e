"""Parameters are data: every wrong one of every component is refused before the model is called.

The cases are made from the constraints that the classes declare; what is wrong for each
kind of constraint is written down here.
"""

import inspect

import numpy as np
import pytest

from skshapley import ShapleyExplainer, plots, shapley_values
from skshapley.constraints import Constraint, Count, Flag, Maybe, Number, OneOf
from skshapley.rewards import REWARDS
from skshapley.samplers import (
    SAMPLERS,
    Herding,
    MallowsKernel,
    MonteCarlo,
    Ordered,
    Sampler,
)
from skshapley.solvers import SOLVERS, Solver
from skshapley.stopping import StandardError, StoppingRule

X = np.arange(12.0).reshape(4, 3)


class Nothing:
    """An object of an unexpected type; its copies are equal."""

    def __repr__(self):
        return "Nothing"


NOTHING = Nothing()


def of_package(base):
    """Return the concrete subclasses of a role that the package has."""
    found = set()
    for kind in base.__subclasses__():
        found |= of_package(kind)
        if kind.__module__.startswith("skshapley.") and not inspect.isabstract(kind):
            found.add(kind)
    return found


COMPONENTS = sorted(
    of_package(Sampler)
    | of_package(Solver)
    | of_package(StoppingRule)
    | set(SAMPLERS.values())
    | set(SOLVERS.values())
    | set(REWARDS.values()),
    key=lambda kind: kind.__name__,
)


def wrong_for(constraint):
    """Return values of a wrong type, and wrong values of the right one."""
    match constraint:
        case Maybe(other=other):
            return [value for value in wrong_for(other) if value is not None]
        case OneOf():
            return [NOTHING, 3, None, "no such name"]
        case Flag():
            return [NOTHING, "yes", 1, None]
        case Count(least=least):
            return [NOTHING, "3", True, least + 0.5, None, least - 1]
        case Number(above=above, least=least, below=below):
            outside = [bound for bound in (above, below) if np.isfinite(bound)]
            outside += [least - 1] if np.isfinite(least) else []
            return [NOTHING, "1", True, None, np.nan, np.inf, -np.inf, *outside]
        case Constraint(choices="the position of a row, an int"):
            return [NOTHING, "row 3", 1.5, True]
        case Constraint():
            return [NOTHING, 42]
    raise TypeError(f"say here what is wrong for {constraint!r}")


CASES = [
    pytest.param(kind, name, id=f"{kind.__name__}-{name}")
    for kind in COMPONENTS
    for name in kind._constraints
]


class Counter:
    """A model and a game that must not be called."""

    def __init__(self):
        self.calls = 0

    def __call__(self, rows):
        self.calls += 1
        return rows.sum(axis=1)


def made(kind, **parameters):
    needed = {"rtol": 0.1} if kind is StandardError else {}
    return kind(**(needed | parameters))


def runs(component, model):
    """Yield the ways by which users hand a component over."""
    role = {Sampler: "sampler", Solver: "solver", StoppingRule: "stopping"}
    role = next(
        (name for base, name in role.items() if isinstance(component, base)), "reward"
    )
    options = {role: component, "random_state": 0}
    yield lambda: ShapleyExplainer(model, **options).fit(X)
    if role != "reward":
        yield lambda: shapley_values(model, n_players=3, **options)


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_invalid_parameters_cost_no_model_call(kind, name):
    model, constraint = Counter(), kind._constraints[name]
    for value in wrong_for(constraint):
        component = made(kind, **{name: value})
        for run in runs(component, model):
            with pytest.raises(ValueError, match="takes") as caught:
                run()
            message, got = str(caught.value), f"{constraint.choices}; got {value!r}"
            assert message.startswith(f"{kind.__name__} takes {name} as {got}")
            assert message.endswith(".")
            assert ". " not in message.replace(repr(value), "")  # one sentence
    assert model.calls == 0


@pytest.mark.parametrize(
    ("component", "message"),
    [
        (
            Herding("no such name"),
            "Herding has no kernel named 'no such name': choose one of",
        ),
        (Herding(3), "Herding takes kernel as one of 'kendall', .* got 3"),
        (Herding(MallowsKernel), r"write MallowsKernel\(\)"),
        (
            Ordered("no such name"),
            "Ordered has no sampler named 'no such name': choose one of",
        ),
        (
            Ordered(NOTHING),
            "Ordered takes sampler as one of 'antithetic', .* got Nothing",
        ),
        (Ordered(MonteCarlo), r"write MonteCarlo\(\)"),
    ],
)
def test_invalid_parts_cost_no_model_call(component, message):
    model = Counter()
    for run in runs(component, model):
        with pytest.raises((ValueError, TypeError), match=message):
            run()
    assert model.calls == 0


DISPLAYS = [
    kind
    for kind in vars(plots).values()
    if inspect.isclass(kind) and getattr(kind, "_constraints", None)
]
DISPLAY_CASES = [
    pytest.param(kind, name, id=f"{kind.__name__}-{name}")
    for kind in DISPLAYS
    if hasattr(kind, "from_estimator")
    for name in kind._constraints
]


@pytest.mark.parametrize(("kind", "name"), DISPLAY_CASES)
def test_invalid_parameters_of_displays_cost_no_model_call(kind, name):
    model = Counter()
    explainer = ShapleyExplainer(model).fit(X)
    calls, constraint = model.calls, kind._constraints[name]
    needed = {"budgets": [20, 40]} if kind is plots.ConvergenceDisplay else {}
    for value in wrong_for(constraint):
        with pytest.raises(
            constraint.error, match=f"{kind.__name__} takes {name} as "
        ) as caught:
            kind.from_estimator(explainer, X[:1], **needed, **{name: value})
        assert f"as {constraint.choices}; got {value!r}" in str(caught.value)
    assert model.calls == calls


def test_all_displays_are_found():
    # the base and `SmallMultiples` are among them
    assert len(DISPLAYS) == sum("Display" in name for name in plots.__all__) + 1
    assert len(DISPLAY_CASES) > 30


@pytest.mark.parametrize("kind", COMPONENTS, ids=lambda kind: kind.__name__)
def test_every_parameter_is_declared_and_its_default_allowed(kind):
    component = made(kind)
    parts = {"kernel", "sampler"}  # refused by `resolve`
    assert set(kind._constraints) == set(component.get_params(deep=False)) - parts
    component.check()


def test_all_components_are_found():
    """An unregistered class, such as StandardError, is found through its base."""
    assert {"Odd", "StandardError", "BaselineReward"} <= {
        kind.__name__ for kind in COMPONENTS
    }
    assert len(CASES) > 70

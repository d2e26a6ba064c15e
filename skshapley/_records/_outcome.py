"""Records of runs and explanations: arrays, axes, the efficiency gap and the method used."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from inspect import Parameter, signature
from reprlib import Repr
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from skshapley._tools import Hinting, unaddressed


def label(thing: object) -> str:
    """Return a str unchanged, and the one-line repr of other objects, without memory addresses.

    The label is therefore equal in every process.
    """
    return (
        thing
        if isinstance(thing, str)
        else unaddressed(" ".join(ONE_LINE.repr(thing).split()))
    )


class OneLine(Repr):
    """Reprs of estimators as scikit-learn's; breaking its lines took a third of ``fit``."""

    def repr_instance(self, x: Any, level: int) -> str:
        """Return the repr of an object; that of an estimator has its changed parameters."""
        kind: Any = type(x)
        if kind.__repr__ is not BaseEstimator.__repr__:
            return repr(x)
        defaults = _defaults(kind)
        if kind.get_params is BaseEstimator.get_params:
            parameters = {name: getattr(x, name) for name in defaults}
        else:
            parameters = x.get_params(deep=False)
        texts = {
            name: self.repr1(value, level)
            for name, value in parameters.items()
            if value is not defaults.get(name, Parameter.empty)
        }
        changed = (
            f"{name}={text}"
            for name, text in texts.items()
            if text != repr(defaults.get(name, Parameter.empty))
        )
        return f"{kind.__name__}({', '.join(changed)})"


ONE_LINE = OneLine()
# scikit-learn shows as many elements
vars(ONE_LINE).update(
    maxlist=30,
    maxtuple=30,
    maxdict=30,
    maxset=30,
    maxstring=700,
    maxlevel=30,
)


@cache
def _defaults(kind: type) -> dict[str, Any]:
    """Return a class's default parameters, which take long to find."""
    return {
        name: parameter.default
        for name, parameter in sorted(signature(kind).parameters.items())
    }


@dataclass(frozen=True, repr=False)
class Settings(Hinting):
    """The parameters and methods of an explanation; None if not applicable.

    Attributes
    ----------
    model : str or None
        The model's repr.
    response_method : str or None
        The called method of the model, or the function that calls it.
    output : label or None
        The selected output of several; "predicted" for each row's predicted class.
    explained_class : label or None
        The explained class of a classifier with two classes.
    loss : str or None
        The explained loss.
    reward : str or None
        The reward: the worth of a coalition.
    masked : str or None
        The columns in which absent players are replaced, with the reason.
    index : str or None
        The index of the values if it is not Shapley's, such as "banzhaf".
    closed_form : str or None
        The closed form of exact values, such as "trees" or "linear terms".
    why_sampled : str or None
        The reason for sampling.
    exact_response : str or None
        For sampled values: a `response_method` of the same model with exact values.
    sampler, solver : str or None
        The methods used; several if rows differ in their number of active players.
    max_rows : int or None
        Largest number of model rows per row.
    n_background : int or None
        Number of background rows, b.
    random_state : str or None
        The passed parameter.
    entropy : int or None
        Source of all random draws; ``random_state=settings.entropy`` repeats them.
    learned : str or None
        Source of learned values, such as "500 rows". `sampler`, `solver` and `max_rows`
        then refer to the explanation of these rows.
    source : str or None
        The package that computed the values, if it is another one.
    refits : str or None
        The refitted models of the refit errors, such as "10 half samples".

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0], random_state=0)
    >>> settings = explainer.fit(np.zeros((1, 2))).explain(np.ones((1, 2))).settings
    >>> settings.sampler, settings.solver, settings.entropy, settings.closed_form
    ('Exact()', 'Linear()', 0, None)
    """

    model: str | None = None
    response_method: str | None = None
    output: Any = None
    explained_class: Any = None
    loss: str | None = None
    reward: str | None = None
    masked: str | None = None
    index: str | None = None
    closed_form: str | None = None
    why_sampled: str | None = None
    exact_response: str | None = None
    sampler: str | None = None
    solver: str | None = None
    max_rows: int | None = None
    n_background: int | None = None
    random_state: str | None = None
    entropy: int | None = None
    learned: str | None = None
    source: str | None = None
    refits: str | None = None

    def sampled(
        self,
        outcome: Any,
        plan: Any,
        entropy: int,
        random_state: Any,
    ) -> Self:
        """Return these settings with the methods of a run.

        Parameters
        ----------
        outcome : Outcome
        plan : Plan
        entropy : int
        random_state : object
            The passed parameter.
        """
        samplers, solvers = (
            ", ".join(dict.fromkeys(label(part) for part in parts)) or None
            for parts in (
                zip(*outcome.methods, strict=True) if outcome.methods else ((), ())
            )
        )
        return replace(
            self,
            sampler=samplers,
            solver=solvers,
            max_rows=plan.max_rows,
            entropy=entropy,
            random_state=label(random_state),
        )

    def __repr__(self) -> str:
        """Return the main settings; `all` has the rest."""
        main = (
            "max_rows",
            "n_background",
            "response_method",
            "output",
            "explained_class",
        )
        values = {
            "method": self.method,
            **{name: value for name, value in self.all.items() if name in main},
        }
        texts = ", ".join(f"{name}={value!r}" for name, value in values.items())
        return f"<Settings: {texts}; the rest is in settings.all>"

    @property
    def all(self) -> dict[str, Any]:
        """All known attributes by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def method(self) -> str:
        """The method in a few words, for titles."""
        if self.closed_form is not None:
            return f"exact, read from {self.closed_form}"
        sampler = self.sampler or ""
        if sampler == "Exact()" or sampler.startswith("ExactNested"):
            return "exact, by all coalitions"
        parts = {"sampler": self.sampler, "solver": self.solver}
        methods = ", ".join(
            f"{name}={part}" for name, part in parts.items() if part is not None
        )
        if self.learned is not None:
            return f"learned from {self.learned} ({methods})"
        if methods or self.max_rows is None:
            return methods or "method unknown"
        return (
            "exact, from the prediction and the base value"  # at most one active player
        )


ERRORS = ("standard_errors", "background_errors")
BY_PLAYER = ("values", *ERRORS, "refit_values")
# and `others`, which is usually None
BY_OUTPUT = (*BY_PLAYER, "base_values", "predictions", "others")
BY_ROW = (*BY_OUTPUT, "n_evaluations", "n_model_rows", "converged")


class Frozen:
    """Base class of frozen dataclasses with read-only arrays."""

    def __post_init__(self) -> None:
        """Replace the arrays by read-only views; the caller's arrays stay writeable."""
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray) and value.flags.writeable:
                # A view, because the flag would otherwise lock the caller's own array.
                view = value.view()
                view.setflags(write=False)
                object.__setattr__(self, name, view)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # unpickled arrays are writeable


def changed(
    record: Any,
    names: Sequence[str],
    change: Callable[[Any], Any],
) -> dict[str, Any]:
    """Return some parts of a record, transformed unless None."""
    parts = {name: getattr(record, name) for name in names}
    return {
        name: None if part is None else change(part) for name, part in parts.items()
    }


def joined(records: Sequence[Any], name: str) -> np.ndarray | None:
    """Return an array of all rows of several records; None if no part has it."""
    parts = [getattr(record, name) for record in records]
    if all(part is None for part in parts):
        return None
    # where a part is None, nothing was left out, or numbers are unknown
    like, blank = ("base_values", 0.0) if name == "others" else ("values", np.nan)
    arrays = [
        np.full(getattr(record, like).shape, blank) if part is None else part
        for record, part in zip(records, parts, strict=True)
    ]
    whole = np.concatenate(arrays)
    # All NaN means that no method gave errors, which is recorded as None.
    return None if name in ERRORS and np.isnan(whole).all() else whole


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values, errors and costs of r rows.

    An *entry* is the set of players of a value. By default, the entries are the p
    single players.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (r, e, k)
        Standard errors are NaN if unknown.
    background_errors : ndarray of shape (r, e, k)
        Standard errors due to the background as a sample; NaN if unknown.
    v_empty, v_full : ndarray of shape (r, k)
        Values of the empty and of the full coalition.
    n_evaluations : ndarray of shape (r,), int
        Evaluations, including v(empty) and v(all), each against one or more background
        rows.
    n_model_rows : ndarray of shape (r,), int
        Model rows for this row, without v(empty), which is shared.
    converged : ndarray of shape (r,), bool
        True for rows that are exact, or accurate enough for the stopping rule.
    entries : ndarray of shape (e, size), int
        The players of each entry, in order.
    methods : list of (Sampler, Solver)
        The samplers and solvers used, one of each class; the last solver keeps its
        state.
    """

    values: np.ndarray
    standard_errors: np.ndarray
    background_errors: np.ndarray
    v_empty: np.ndarray
    v_full: np.ndarray
    n_evaluations: np.ndarray
    n_model_rows: np.ndarray
    converged: np.ndarray
    entries: np.ndarray
    methods: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def blank(cls, r: int, k: int, entries: np.ndarray) -> Self:
        """Return an empty outcome for `r` rows and `k` outputs."""
        shape = r, len(entries), k
        return cls(
            np.zeros(shape),
            # Unknown until written: 0 would claim an exact value.
            np.full(shape, np.nan),
            np.full(shape, np.nan),
            np.zeros((r, k)),
            np.zeros((r, k)),
            np.zeros(r, dtype=np.int64),
            np.zeros(r, dtype=np.int64),
            np.zeros(r, dtype=bool),
            entries,
        )

    @classmethod
    def exact(cls, values: np.ndarray, v_empty: np.ndarray, v_full: np.ndarray) -> Self:
        """Return the outcome of a closed form, with errors of 0 and no evaluations."""
        r, p, k = values.shape
        return replace(
            cls.blank(r, k, np.arange(p)[:, None]),
            values=values,
            standard_errors=np.zeros(values.shape),
            v_empty=v_empty,
            v_full=v_full,
            converged=np.ones(r, dtype=bool),
        )

    def with_pairs(self, pairs: np.ndarray) -> Self:
        """Return the outcome with additional entries for pairs of players, with errors of 0.

        Parameters
        ----------
        pairs : ndarray of shape (r, p (p - 1)/2, k)
            In the order of ``np.triu_indices(p, 1)``.
        """
        players = np.array(np.triu_indices(self.values.shape[1], 1)).T
        return replace(
            self,
            values=np.concatenate([self.values, pairs], axis=1),
            standard_errors=np.concatenate(
                [self.standard_errors, np.zeros_like(pairs)],
                axis=1,
            ),
            entries=np.concatenate([np.repeat(self.entries, 2, axis=1), players]),
        )

    @property
    def n_players(self) -> int:
        """The number of entries of single players, which come first; 0 without players."""
        return int((self.entries == self.entries[:, :1]).all(axis=1).sum())

    @property
    def solver(self) -> Any:
        """The last solver, with the trace of its run, or None."""
        return self.methods[-1][1] if self.methods else None

    def used(self, sampler: Any, solver: Any) -> None:
        """Record the used methods; the last of each class is kept."""
        kind = type(sampler), type(solver)
        # Blocks repeat the same methods, and a record needs each of them once.
        earlier = [
            pair for pair in self.methods if (type(pair[0]), type(pair[1])) != kind
        ]
        self.methods[:] = [*earlier, (sampler, solver)]

    def head(self, n: int) -> Self:
        """Return the first `n` rows."""
        shared = ("entries", "methods")
        return replace(
            self,
            **{k: v[:n] for k, v in vars(self).items() if k not in shared},
        )


UNKNOWN = Settings()


@dataclass(frozen=True, eq=False, repr=False)
class Record(Frozen):
    """The data of an explanation, without its methods; `Explanation` documents them.

    The functions of this room take a `Record`; only `Explanation` knows these functions.
    """

    values: np.ndarray
    standard_errors: np.ndarray | None
    base_values: np.ndarray
    predictions: np.ndarray
    data: pd.DataFrame
    feature_names: np.ndarray
    output_names: np.ndarray | None
    n_evaluations: np.ndarray
    n_model_rows: np.ndarray
    converged: np.ndarray
    settings: Settings = UNKNOWN
    background_errors: np.ndarray | None = None
    interactions: Any = None
    others: np.ndarray | None = None
    refit_values: np.ndarray | None = None

    @property
    def efficiency_gap(self) -> np.ndarray:
        """Prediction minus base value minus the sum of attributions, ``(r,)`` or ``(r, k)``."""
        # the brackets keep the difference of large, similar ends accurate
        gap = (self.predictions - self.base_values) - self.values.sum(axis=1)
        return gap if self.others is None else gap - self.others

    @property
    def index(self) -> pd.Index:
        """The index of the explained rows."""
        return self.data.index

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`: ``(r, p)`` or ``(r, p, k)``."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)


def quantity(record: Record) -> dict[str, Any]:
    """Return the players, outputs and known settings that define the values of a record."""
    names = record.output_names
    settings = record.settings
    parts = {
        "feature_names": record.feature_names.tolist(),
        "output_names": None if names is None else names.tolist(),
    }
    # values of other packages have no settings
    if settings.reward is not None:
        parts |= {
            "response_method": settings.response_method,
            "loss": settings.loss,
            "reward": settings.reward,
            "index": settings.index,
            "output": settings.explained_class
            if settings.output is None
            else settings.output,
        }
    return parts


def check_same(owner: str, first: dict[str, Any], second: dict[str, Any]) -> None:
    """Raise ValueError if two records measure different quantities."""
    for name, value in first.items():
        if name in second and value != second[name]:
            raise ValueError(
                f"{owner} needs the same {name}: got {value} and {second[name]}."
            )


# An explanation, of which a part is an explanation too
SomeRecord = TypeVar("SomeRecord", bound=Record)

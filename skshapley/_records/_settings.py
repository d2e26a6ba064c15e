"""Settings: the record of the computation of an explanation."""

from dataclasses import dataclass, fields
from typing import Any, Self

from skshapley._tools._texts import model_text, unaddressed


def label(thing: object) -> str:
    """Return a str as it is, else a repr on one line, without the object's place in memory.

    So it is the same in every process.
    """
    return thing if isinstance(thing, str) else unaddressed(model_text(thing))


@dataclass(frozen=True, repr=False)
class Settings:
    """The parameters and methods of an explanation; None where one does not apply.

    Attributes
    ----------
    model : str or None
        The model's repr.
    response_method : str or None
        The method of the model that was called, or the function that called it.
    output : label or None
        The output that was explained, of several; "predicted" for each instance's own class.
    loss : str or None
        The loss that was explained.
    reward : str or None
        What a coalition is worth.
    masked : str or None
        In which columns absent players are filled in, and why.
    index : str or None
        The index of the values where they are not Shapley's, such as "banzhaf".
    closed_form : str or None
        What the values were read from, exactly and without sampling, such as "trees" or "linear
        terms".
    why_sampled : str or None
        Why nothing was read.
    exact_response : str or None
        Where the values were sampled: a `response_method` of the same model that would be read.
    sampler, solver : str or None
        The methods that were in fact used; several where instances differ in the players that
        matter to them.
    max_rows : int or None
        Model rows that each instance was allowed.
    n_background : int or None
        Number of background rows, b.
    random_state : str or None
        As it was given.
    entropy : int or None
        What all draws came from: with ``random_state=settings.entropy`` they come again.
    learned : str or None
        What the values were learned from, such as "500 rows". `sampler`, `solver` and `max_rows`
        are then those by which these rows were explained.
    source : str or None
        The package that computed the values, if it was not this one.

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

    @classmethod
    def of(cls, outcome: Any, plan: Any = None, **facts: Any) -> Self:
        """Return the settings of an outcome.

        Parameters
        ----------
        outcome : Outcome
        plan : Plan or None
            None where nothing was sampled.
        **facts
            The other attributes.
        """
        if plan is None:
            return cls(**facts)
        samplers, solvers = (
            ", ".join(dict.fromkeys(label(part) for part in parts)) or None
            for parts in (zip(*outcome.methods, strict=True) if outcome.methods else ((), ()))
        )
        return cls(
            sampler=samplers,
            solver=solvers,
            max_rows=plan.max_rows,
            entropy=plan.entropy,
            **facts,
        )

    def __repr__(self) -> str:
        """Return the main settings; `all` has the rest."""
        most = {
            "method": self.method,
            "max_rows": self.max_rows,
            "n_background": self.n_background,
            "response_method": self.response_method,
            "output": self.output,
        }
        told = ", ".join(f"{name}={value!r}" for name, value in most.items() if value is not None)
        return f"<Settings: {told}; the rest is in settings.all>"

    @property
    def all(self) -> dict[str, Any]:
        """All attributes that are known, by name."""
        known = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in known if value is not None}

    @property
    def method(self) -> str:
        """The method in a few words, for titles."""
        if self.closed_form is not None:
            return f"exact, read from {self.closed_form}"
        parts = {"sampler": self.sampler, "solver": self.solver}
        told = ", ".join(f"{name}={part}" for name, part in parts.items() if part is not None)
        if self.learned is not None:
            return f"learned from {self.learned} ({told})"
        if told or self.max_rows is None:
            return told or "method unknown"
        return "exact, from the prediction and the base value"  # one player matters, or none

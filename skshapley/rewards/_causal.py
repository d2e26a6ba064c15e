"""Causal Shapley values: the response if the present columns were set, not observed.

Heskes, Sijben, Bucur & Claassen (2020), Eq 3 and Corollary 1: columns form components,
causes before effects. Given do(x_S), the absent columns of a component follow all
columns of earlier components. They also follow the present columns of their own
component, unless their dependence comes from a common cause (confounding).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skshapley._tables._inputs import column_names
from skshapley._tools._params import Constraint
from skshapley.rewards._conditional import ConditionalReward
from skshapley.rewards._players import Players
from skshapley.rewards._transport import CausalModel


def _are_components(value) -> bool:
    """Return True for a list of lists of columns."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(
            isinstance(part, list | tuple | np.ndarray) and len(part) for part in value
        )
    )


class CausalReward(ConditionalReward):
    """The model's mean response under an intervention that sets the present columns.

    v(S) = E[f(X) | do(X_S = x_S)] for normal columns with a causal chain graph of
    components. Causes come before effects. Setting a column moves its effects but not
    its causes. In contrast, `ConditionalReward` also infers causes from effects. With
    ``confounded=False``, the columns of a component act on each other, so the present
    columns move the others. With ``confounded=True``, they share an unmeasured cause,
    so setting one does not move the others.

    A single component without confounding gives `ConditionalReward`. A single
    confounded component gives `InterventionalReward`. The graph is not tested; the
    values are correct only if the graph is. Columns must be numbers without missing
    values. A coalition costs one matrix per component.

    Parameters
    ----------
    components : list of list of columns
        Columns by name or position, each once; causes before effects.
    confounded : bool or list of bool, default=False
        For all components, or for each.
    covariance : None or array of shape (d, d), default=None
        As in `ConditionalReward`.

    See Also
    --------
    skshapley.samplers.Ordered : Values over orders in which causes come first.

    References
    ----------
    Heskes, Sijben, Bucur & Claassen (2020), Causal Shapley values: exploiting causal
    knowledge to explain individual predictions of complex models, NeurIPS, Eq 3 and
    Corollary 1.

    Examples
    --------
    The model uses the effect, but not its cause:

    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.rewards import CausalReward
    >>> covariance, rows = [[1, 0.8], [0.8, 1]], np.array([[1.0, 1.0], [-1.0, -1.0]])
    >>> for components in ([["x0"], ["x1"]], [["x1"], ["x0"]]):
    ...     reward = CausalReward(components, covariance=covariance)
    ...     explainer = ShapleyExplainer(lambda X: X[:, 1], reward=reward).fit(rows)
    ...     print(explainer.explain(np.array([[1.0, 2.0]])).values.round(2) + 0.0)
    [[0.4 1.6]]
    [[0. 2.]]
    """

    _constraints = {
        **ConditionalReward._constraints,
        "components": Constraint(
            _are_components, "a list of lists of columns, causes first"
        ),
        "confounded": Constraint(
            lambda value: np.asarray(value).dtype == bool,
            "True or False, or a list of them",
        ),
    }

    def __init__(
        self, components: Any, confounded: Any = False, covariance: Any = None
    ) -> None:
        super().__init__(covariance)
        self.components = components
        self.confounded = confounded

    def _model(self, **parts) -> CausalModel:
        names = column_names(self.background_)
        groups = {f"component {i}": part for i, part in enumerate(self.components)}
        players = Players.from_groups(groups, names, "CausalReward")
        # Columns outside the groups would become players of their own, without a place
        # among the causes.
        if players.n_players > len(groups):
            raise ValueError(
                f"CausalReward got components {self.components!r}: name each of the "
                f"columns {names} once."
            )
        components = tuple(
            (players.names == name)[players.column_player] for name in groups
        )
        flags = np.asarray(self.confounded)
        if flags.shape not in ((), (len(groups),)):
            raise ValueError(
                f"CausalReward got confounded={self.confounded!r} for {len(groups)} "
                "components: pass one flag for each, or a single one."
            )
        confounded = tuple(np.broadcast_to(flags, len(groups)).tolist())
        return CausalModel(**parts, components=components, confounded=confounded)

    def split(self, rng) -> None:
        """Do nothing: rows that follow causes have no known part."""

"""Compare rewards by their error in predicting the response from the present columns.

E[(f(X) - v(S))^2] over rows and coalitions, v being a function of x_S, is smallest for
v(S) = E[f(X) | X_S]: Frye, de Mijolla, Begley, Cowton, Stanley & Feige (2021), Eq 9,
their MSEv.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skshapley._records._outcome import label
from skshapley._run._evaluate import Evaluator, Requests
from skshapley._tools._constraints import Count, check_values
from skshapley._tools._random import entropy_from, generator
from skshapley.rewards._refit import JointGame
from skshapley.rewards._surrogate import kernel_coalitions


def conditional_error(
    explainer, rewards, X, *, n_coalitions=32, n_jobs=None, random_state=None
) -> pd.DataFrame:
    """Compare rewards by the error of v(S) as a prediction of the response of held-out rows.

    The error is the mean of (f(x) - v(S))^2 over held-out rows x and coalitions S.
    Among all functions of the present columns, the conditional expectation has the
    smallest error. A smaller error therefore means a reward closer to E[f(X) | x_S].
    The error does not reach 0. An interventional reward with a larger error is not
    wrong: it answers another question.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer
        It provides the model, response, output, groups and background.
    rewards : list of str or Reward, or dict of them
        Each is fitted to the explainer's background. The keys of a dict are their
        names.
    X : array or frame of shape (r, d)
        Rows that neither the background nor the training of the model has seen.
    n_coalitions : int, default=32
        Coalitions for each row: drawn by the Shapley kernel, equal for all rewards, and
        for all rows if a reward fits a model for each ("forest", "refit"). Each costs
        an evaluation with each reward.
    n_jobs : int, default=None
        Workers, through joblib.
    random_state : None, int, Generator or RandomState, default=None

    Returns
    -------
    errors : DataFrame
        A row for each reward, with columns ``error``; ``standard_error``, over rows;
        ``share``, relative to the error of the constant v(empty); ``difference``, to
        the first reward's error; and ``difference_error``, its standard error, which is
        smaller, because rows and coalitions are the same. Errors of several outputs are
        added.

    Notes
    -----
    With few background rows, the random error of their means is part of each error:
    about the variance of the response divided by their number. It is common to all
    rewards on one background.

    References
    ----------
    Frye, de Mijolla, Begley, Cowton, Stanley & Feige (2021), Shapley explainability on
    the data manifold, ICLR, Eq 9. Olsen, Glad, Jullum & Aas (2024), A comparative study
    of methods for estimating model-agnostic Shapley value explanations, Data Mining and
    Knowledge Discovery 38.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.diagnostics import conditional_error
    >>> X = np.random.default_rng(0).multivariate_normal(
    ...     [0, 0], [[1, 0.8], [0.8, 1]], size=400
    ... )
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0] + X[:, 1]).fit(X[:200])
    >>> rewards = ["interventional", "conditional"]
    >>> errors = conditional_error(explainer, rewards, X[200:], random_state=0)
    >>> errors["share"].round(1).tolist()
    [0.3, 0.1]
    """
    check_values(
        "conditional_error", {"n_coalitions": n_coalitions}, {"n_coalitions": Count()}
    )
    check_is_fitted(explainer, "reward_")
    by_name = _named(rewards)
    p = explainer.players_.n_players
    if p == 1:
        raise ValueError(
            "conditional_error got a single player, which has no coalitions between "
            "the empty and the full one: pass at least two columns or groups."
        )
    if len(X) < 2:
        raise ValueError(
            f"conditional_error needs at least 2 rows to estimate errors; got {len(X)}."
        )
    rng = generator(entropy_from(random_state, "conditional_error"), 1)
    # The same coalitions for all rewards: differences are then more precise than
    # errors.
    variants = {
        name: explainer._with(reward=reward) for name, reward in by_name.items()
    }
    if any(variant.reward_.joint for variant in variants.values()):
        # one fit of a coalition for all rows
        coalitions = kernel_coalitions(rng, n_coalitions, p)
        coalitions = np.tile(coalitions, (len(X), 1))
    else:
        coalitions = kernel_coalitions(rng, len(X) * n_coalitions, p)
    squares = {}
    constant = {}  # the errors of v(empty)
    for name, variant in variants.items():
        squares[name], constant[name] = _squares(variant, X, coalitions, n_jobs)
    errors = pd.DataFrame(squares)
    differences = errors.sub(errors.iloc[:, 0], axis=0)
    scale = pd.Series(constant)
    return pd.DataFrame(
        {
            "error": errors.mean(),
            "standard_error": errors.sem(),
            "share": errors.mean() / scale.where(scale > 0),
            "difference": differences.mean(),
            "difference_error": differences.sem(),
        }
    ).rename_axis("reward")


def _named(rewards) -> dict:
    """Return the rewards by name, or raise ValueError."""
    by_name = dict(rewards) if isinstance(rewards, Mapping) else {}
    if isinstance(rewards, list | tuple):
        by_name = {label(reward): reward for reward in rewards}
    if not by_name or len(by_name) < len(rewards):
        raise ValueError(
            "conditional_error takes rewards as a list of different names or rewards, "
            f"or as a dict of them; got {rewards!r}."
        )
    return by_name


def _squares(variant, X, coalitions, n_jobs) -> tuple[np.ndarray, float]:
    """Return the mean squared error of each row, and the error of the constant v(empty)."""
    game = variant.reward_.game(variant._background.table(variant, X))
    rows = np.arange(game.n_rows)
    full = game.full(rows)
    m = len(coalitions) // len(rows)
    if variant.reward_.joint:
        requests = Requests(np.zeros(m, dtype=np.intp), coalitions[:m], None)
        with Evaluator(JointGame(game), n_jobs) as evaluator:
            values = evaluator(requests).reshape(m, len(rows), -1).swapaxes(0, 1)
    else:
        requests = Requests(np.repeat(rows, m), coalitions, None)
        with Evaluator(game, n_jobs) as evaluator:
            values = evaluator(requests).reshape(len(rows), m, -1)
    empty = (game.reference_weights[:, None] * game.empty(rows)).sum(axis=1)
    squares = ((full[:, None] - values) ** 2).sum(axis=2).mean(axis=1)
    return squares, float(((full - empty) ** 2).sum(axis=1).mean())

"""Complete games with jumps for the benchmark of interactions; their intervals are the hardest."""

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from skshapley._tools._counting import all_coalitions


def gloves(rng):
    p = rng.integers(10, 14)
    left, S = rng.integers(2, p // 2 + 1), all_coalitions(p)
    return np.minimum(S[:, :left].sum(axis=1), S[:, left:].sum(axis=1)) * 1.0


def weighted_majority(rng):
    votes = rng.integers(1, 12, rng.integers(10, 14))
    return (
        all_coalitions(len(votes)) @ votes > votes.sum() * rng.uniform(0.4, 0.8)
    ) * 1.0


def council(rng):
    """Three with a veto, and four of nine others."""
    S = all_coalitions(12)[:, rng.permutation(12)]
    return (S[:, :3].all(axis=1) & (S[:, 3:].sum(axis=1) >= 4)) * 1.0


def bankruptcy(rng):
    claims = rng.uniform(1, 5, 12)
    estate = claims.sum() * rng.uniform(0.3, 0.7)
    return np.maximum(0, estate - ~all_coalitions(12) @ claims)


def cover(rng):
    """How many of twenty points some sets cover."""
    sets = rng.random((12, 20)) < 0.2
    return (all_coalitions(12) @ sets.astype(int) > 0).sum(axis=1) * 1.0


def rare(rng):
    """An additive game, and two rules of five or six players."""
    S = all_coalitions(12)
    values = S @ rng.normal(size=12)
    for _ in range(2):
        members = rng.choice(12, rng.integers(5, 7), replace=False)
        wanted = rng.random(len(members)) < 0.5
        values += rng.normal() * (S[:, members] == wanted).all(axis=1)
    return values


def rules(rng):
    S, values = all_coalitions(12), 0.0
    for _ in range(6):
        members = rng.choice(12, rng.integers(3, 6), replace=False)
        wanted = rng.random(len(members)) < 0.5
        values = values + rng.normal() * (S[:, members] == wanted).all(axis=1)
    return values


def highest(rng):
    """The largest of some numbers less half the smallest."""
    S, numbers = all_coalitions(12), rng.integers(1, 20, 12)
    least = np.where(S, numbers, 99).min(axis=1) * S.any(axis=1)
    return np.where(S, numbers, 0).max(axis=1) - least / 2


def nearest(rng):
    """Accuracy of the nearest of eleven training points."""
    S, train, test = (
        all_coalitions(11),
        rng.normal(size=(11, 2)),
        rng.normal(size=(25, 2)),
    )
    label = train[:, 0] + 0.5 * rng.normal(size=11) > 0
    far = ((test[:, None] - train) ** 2).sum(axis=2)
    right = label[np.where(S[:, None], far, np.inf).argmin(axis=2)] == (test[:, 0] > 0)
    return np.where(S.any(axis=1), right.mean(axis=1), 0.5)


def one_tree(rng):
    """A tree of sixty leaves, against two rows."""
    X, S = rng.normal(size=(300, 12)), all_coalitions(12)
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2] * (X[:, 3] > 0) * X[:, 4]
    tree = DecisionTreeRegressor(max_leaf_nodes=60, random_state=0)
    tree.fit(X, y + 0.3 * rng.normal(size=300))
    return sum(tree.predict(np.where(S, X[0], X[row])) for row in (1, 2)) / 2


JUMPING = {
    function.__name__: function
    for function in (
        *(
            gloves,
            weighted_majority,
            council,
            bankruptcy,
            cover,
            rare,
            rules,
            highest,
            nearest,
        ),
        one_tree,
    )
}

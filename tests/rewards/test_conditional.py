"""Conditional rewards, compared with closed forms of normal columns and with loops."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.covariance import ledoit_wolf

from skshapley import ShapleyExplainer
from skshapley.rewards import (
    CausalReward,
    ConditionalReward,
    CopulaReward,
    InterventionalReward,
    Players,
    Response,
    _gaussian,
)
from skshapley.rewards._gaussian import (
    chosen_factors,
    factor_correlation,
    learned_correlation,
)
from skshapley.rewards._transport import RankMargins
from skshapley.testing import brute_force

RNG = np.random.default_rng(0)
D = 4
MIX = RNG.normal(size=(D, D))
SIGMA = MIX @ MIX.T + np.eye(D)
ROWS = RNG.multivariate_normal(np.arange(D), SIGMA, size=30)
X = RNG.multivariate_normal(np.arange(D), SIGMA, size=3)
WEIGHTS = RNG.dirichlet(np.full(30, 5.0))
ALL = np.array(list(product([False, True], repeat=D)))


def bumpy(rows):
    a, b, c, d = np.asarray(rows, dtype=float).T
    return np.sin(a) * b + np.maximum(c, 0) * d + c**2 / 4


def game(reward, function=bumpy, X=X, rows=ROWS, weights=WEIGHTS, groups=None):
    players = Players.from_groups(groups, [f"x{i}" for i in range(D)], "Owner")
    return reward.fit(Response(function), rows, weights, players).game(X)


def moved(x, rows, sigma, present):
    """Rows moved by the pseudo-inverse, one coalition at a time."""
    gain = np.linalg.pinv(sigma[np.ix_(present, present)]) @ sigma[present]
    return rows + (x - rows)[:, present] @ gain


def by_loop(sigma, x=X, rows=ROWS, weights=WEIGHTS, function=bumpy):
    """The values of all coalitions, ``(r, 2^d)``."""
    return np.array(
        [[weights @ function(moved(one, rows, sigma, s)) for s in ALL] for one in x]
    )


KNOWN = {
    "interventional": InterventionalReward(),
    "log": InterventionalReward(link="log"),
    "conditional": ConditionalReward(SIGMA),
    "causal": CausalReward([["x0", "x1"], ["x2", "x3"]], covariance=SIGMA),
}


@pytest.mark.parametrize("reward", KNOWN.values(), ids=KNOWN)
def test_weight_two_equals_two_rows_if_nothing_is_learned_from_them(reward):
    weights = np.arange(30) % 3 + 1

    def values(rows, weights=None):
        explainer = ShapleyExplainer(
            lambda rows: np.exp(bumpy(rows) / 50), reward=reward, sampler="exact"
        )
        return explainer.fit(rows, sample_weight=weights).explain(X).values

    expected = values(np.repeat(ROWS, weights, axis=0))
    np.testing.assert_allclose(values(ROWS, weights), expected, atol=1e-12)


def ask(made, coalitions=ALL, references=None):
    everyone = np.repeat(coalitions[None], made.n_rows, axis=0)
    if references is not None:
        references = np.repeat(references[None], made.n_rows, axis=0)
    return made(everyone, np.arange(made.n_rows), references)[:, :, 0]


def test_values_agree_with_rows_moved_one_by_one():
    reward = ConditionalReward(SIGMA)
    worth = ask(game(reward))
    np.testing.assert_allclose(worth, by_loop(SIGMA), rtol=0, atol=1e-12)
    assert reward.shrinkage_ == 0


def test_values_of_linear_models_agree_with_the_closed_form():
    """E[X_j | x_S] = m_j + Sigma_jS Sigma_SS^-1 (x_S - m_S), with the rows' mean m."""
    slopes = np.array([1.0, -2.0, 0.5, 3.0])
    centre = WEIGHTS @ ROWS

    def worth(coalitions, x):
        means = []
        for s in np.asarray(coalitions, dtype=bool):
            known = np.linalg.solve(SIGMA[np.ix_(s, s)], (x - centre)[s])
            means.append(np.where(s, x, centre + SIGMA[:, s] @ known))
        return np.array(means) @ slopes

    reward = ConditionalReward(SIGMA)
    explainer = ShapleyExplainer(lambda Z: Z @ slopes, reward=reward, sampler="exact")
    found = explainer.fit(ROWS, sample_weight=WEIGHTS).explain(X).values
    for x, values in zip(X, found, strict=True):
        expected = brute_force(lambda coalitions, x=x: worth(coalitions, x), D)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-4)


def test_values_converge_to_the_conditional_expectation():
    """E[X_0^2 X_1 | x_2] of three normal columns, by the moments of their conditional law.

    The mean over 20,000 rows lies within five of its standard errors (false alarms:
    6e-7).
    """
    sigma = SIGMA[:3, :3]
    rows = np.random.default_rng(1).multivariate_normal(np.zeros(3), sigma, size=20_000)
    x = np.array([[0.0, 0.0, 1.5]])

    def cubic(Z):
        return Z[:, 0] ** 2 * Z[:, 1]

    reward = ConditionalReward(sigma)
    players = Players.from_groups(None, list("abc"), "Owner")
    made = reward.fit(
        Response(cubic), rows, np.full(len(rows), 1 / len(rows)), players
    ).game(x)
    found = made(np.array([[[False, False, True]]]), np.array([0]))[0, 0, 0]
    m = sigma[:2, 2] / sigma[2, 2] * 1.5
    c = sigma[:2, :2] - np.outer(sigma[:2, 2], sigma[:2, 2]) / sigma[2, 2]
    expected = m[1] * (m[0] ** 2 + c[0, 0]) + 2 * m[0] * c[0, 1]
    single = cubic(moved(x[0], rows, sigma, np.array([False, False, True])))
    assert abs(found - expected) < 5 * single.std() / np.sqrt(len(rows))


@pytest.mark.parametrize("reward", [ConditionalReward(), CopulaReward()])
@pytest.mark.parametrize("groups", [None, {"pair": ["x0", "x2"]}])
def test_permutations_and_single_coalitions_agree(reward, groups):
    """One update per column along a permutation; one matrix per coalition otherwise."""
    made = game(reward, groups=groups)
    p = made.n_players
    order = np.random.default_rng(2).permutation(p)
    walk = np.array([np.isin(np.arange(p), order[:k]) for k in range(1, p)])
    single = np.arange(30)[:, None]
    rows = np.array([1])
    for references in (single[3:4], single[5:6]):
        named = np.broadcast_to(references, (1, len(walk), 1))
        along = made(walk[None], rows, named)
        alone = [made(s[None, None], rows, references[None]) for s in walk]
        np.testing.assert_allclose(
            along, np.concatenate(alone, axis=1), rtol=0, atol=1e-12
        )
    each = [
        made(walk[None], rows, np.broadcast_to(one, (1, len(walk), 1)))[0, :, 0]
        for one in single
    ]
    together = made(walk[None], rows)[0, :, 0]
    np.testing.assert_allclose(WEIGHTS @ np.array(each), together, rtol=0, atol=1e-12)


def test_little_memory_changes_nothing_but_rounding(monkeypatch):
    made = game(ConditionalReward())
    references = np.random.default_rng(3).integers(30, size=(16, 1))
    whole = ask(made), ask(made, references=references)
    monkeypatch.setattr(_gaussian, "CHUNK_BYTES", 1)
    parts = ask(made), ask(made, references=references)
    np.testing.assert_allclose(parts[0], whole[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(parts[1], whole[1], rtol=0, atol=1e-12)


def test_the_covariance_is_estimated_with_shrinkage():
    reward = ConditionalReward()
    game(reward, weights=np.full(30, 1 / 30))
    covariance, shrinkage = ledoit_wolf((ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0))
    assert 0.01 < shrinkage < 1
    assert reward.shrinkage_ == pytest.approx(shrinkage)
    np.testing.assert_allclose(reward.correlation_, covariance, rtol=0, atol=1e-12)
    spread = ROWS.std(axis=0)
    sigma = reward.correlation_ * np.outer(spread, spread)
    equal = np.full(30, 1 / 30)
    found = ask(game(ConditionalReward(), weights=equal))
    np.testing.assert_allclose(found, by_loop(sigma, weights=equal), rtol=0, atol=1e-10)


def test_weights_equal_repeated_rows():
    """A row of double weight equals two rows, except for a small effect on shrinkage."""
    heavy = np.full(30, 1 / 40)
    heavy[:10] *= 2
    twice = np.concatenate([ROWS, ROWS[:10]])
    one, other = ConditionalReward(), ConditionalReward()
    game(one, weights=heavy)
    game(other, rows=twice, weights=np.full(40, 1 / 40))
    for reward in (one, other):
        unshrunk = (reward.correlation_ - np.eye(D)) / (1 - reward.shrinkage_)
        np.testing.assert_allclose(
            unshrunk + np.eye(D), np.corrcoef(twice.T), rtol=0, atol=1e-12
        )


ONE_FACTOR = np.full((12, 12), 0.6) + 0.4 * np.eye(12)
CHAIN = 0.7 ** np.abs(np.subtract.outer(np.arange(12), np.arange(12)))


def normal_rows(correlation, n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, len(correlation))) @ np.linalg.cholesky(correlation).T


def fitted(reward, rows, weights=None):
    weights = np.full(len(rows), 1 / len(rows)) if weights is None else weights
    players = Players.from_groups(
        None, [f"x{i}" for i in range(rows.shape[1])], "Owner"
    )
    return reward.fit(Response(lambda Z: Z[:, 0]), rows, weights, players)


@pytest.mark.parametrize("seed", range(3))
def test_the_correlation_of_one_factor_is_estimated_better(seed):
    """The errors of 66 numbers from 300 rows, which depend on 12 loadings."""
    rows = normal_rows(ONE_FACTOR, 300, seed)
    found = fitted(ConditionalReward(), rows)
    assert found.n_factors_ == 1
    assert found.shrinkage_ >= 0.8
    plain, _ = learned_correlation(rows, np.full(300, 1 / 300))
    errors = [((one - ONE_FACTOR) ** 2).sum() for one in (found.correlation_, plain)]
    assert errors[0] < 0.7 * errors[1]
    np.testing.assert_array_equal(np.diagonal(found.correlation_), 1.0)
    assert np.linalg.eigvalsh(found.correlation_).min() > 0


@pytest.mark.parametrize("n_factors", [1, 2, 3])
def test_a_factor_model_is_recovered_exactly(n_factors):
    loadings = np.random.default_rng(0).uniform(-0.55, 0.55, size=(12, n_factors))
    expected = loadings @ loadings.T
    np.fill_diagonal(expected, 1.0)
    found = factor_correlation(expected, n_factors)
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.02)


def test_factors_explain_at_most_all_of_a_column():
    """Two equal columns and independent ones; and columns without any correlation."""
    twins = np.eye(5)
    twins[0, 1] = twins[1, 0] = 1 - 1e-6
    for correlation in (twins, np.eye(5)):
        for n_factors in (1, 2):
            found = factor_correlation(correlation, n_factors)
            assert np.linalg.eigvalsh(found).min() > 1e-4
            np.testing.assert_allclose(found, correlation, rtol=0, atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("truth", [CHAIN, np.eye(12)])
def test_correlations_without_few_factors_are_shrunk_towards_the_identity(truth, seed):
    """In a chain, each column depends on its neighbours."""
    rows = normal_rows(truth, 1000, seed)
    found = fitted(ConditionalReward(), rows)
    assert found.n_factors_ == 0
    plain, shrinkage = learned_correlation(rows, np.full(1000, 1 / 1000))
    np.testing.assert_allclose(found.correlation_, plain, rtol=0, atol=1e-12)
    assert found.shrinkage_ == pytest.approx(shrinkage)


def test_few_rows_few_columns_and_constant_columns_have_no_factors():
    rows = normal_rows(ONE_FACTOR, 400)
    constant = rows.copy()
    constant[:, 3] = 1.0
    for table in (rows[:100], rows[:, :2], constant):
        assert chosen_factors(table, np.full(len(table), 1 / len(table))) == (0, 0.0)


def test_factors_depend_on_the_weights_of_rows():
    rows = normal_rows(ONE_FACTOR, 300)
    noise = np.random.default_rng(1).normal(size=(300, 12))
    weights = np.repeat([1.0, 1e-12], 300)
    both = fitted(
        ConditionalReward(), np.vstack([rows, noise]), weights / weights.sum()
    )
    alone = fitted(ConditionalReward(), rows)
    assert (both.n_factors_, both.shrinkage_) == (alone.n_factors_, alone.shrinkage_)
    np.testing.assert_allclose(both.correlation_, alone.correlation_, rtol=0, atol=1e-6)


@pytest.mark.parametrize("reward", [ConditionalReward(), CopulaReward()])
def test_rewards_have_the_number_of_factors(reward):
    found = fitted(reward, normal_rows(ONE_FACTOR, 300))
    assert found.n_factors_ == 1
    assert found.shrinkage_ >= 0.8
    found = fitted(reward, normal_rows(CHAIN, 300))
    assert found.n_factors_ == 0
    assert found.shrinkage_ < 0.5


def test_a_known_covariance_is_not_shrunk_towards_factors():
    found = fitted(ConditionalReward(ONE_FACTOR), normal_rows(ONE_FACTOR, 300))
    assert found.n_factors_ == 0
    np.testing.assert_allclose(found.correlation_, ONE_FACTOR, rtol=0, atol=1e-5)


def test_duplicate_columns_share_and_constant_columns_get_zero():
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 400))
    rows = np.column_stack([a, a, np.full(400, 7.0), b])
    explainer = ShapleyExplainer(
        lambda Z: Z[:, 0] - Z[:, 3], reward="conditional", sampler="exact"
    )
    found = explainer.fit(rows).explain(
        np.array([[2.0, 2.0, 7.0, 1.0], [2.0, 0.0, 9.0, 1.0]])
    )
    assert np.isfinite(found.values).all()
    first, second = found.values
    assert first[0] == pytest.approx(first[1], abs=0.05)
    assert first[2] == 0
    # twins that disagree, and a number that the constant column never had
    assert second[2] == pytest.approx(0, abs=1e-9)


def test_linearly_dependent_columns_are_accepted():
    rng = np.random.default_rng(5)
    a, b, c = rng.normal(size=(3, 300))
    rows = np.column_stack([a, b, a + b, c])
    made = game(
        ConditionalReward(), rows=rows, weights=np.full(300, 1 / 300), X=rows[:2]
    )
    assert np.isfinite(ask(made)).all()
    # a and a + b tell b, but for what shrinkage takes away
    s = np.array([True, False, True, False])
    known = made(s[None, None], np.array([0]), np.array([[[7]]]))[0, 0, 0]
    expected = bumpy(np.array([[a[0], b[0], a[0] + b[0], c[7]]]))[0]
    assert known == pytest.approx(expected, abs=0.2)


@pytest.mark.parametrize("reward", ["conditional", "copula"])
def test_standard_errors_cover_the_true_values(reward):
    """Permutations compared with all coalitions, for the same learned covariance.

    120 intervals of 95 %, four from each run: fewer than 98 cover with probability
    below 1e-3, even if the four of a run are fully dependent.
    """
    rng = np.random.default_rng(6)
    x = rng.multivariate_normal(np.arange(D), SIGMA, size=30)
    truth = ShapleyExplainer(bumpy, reward=reward, sampler="exact").fit(ROWS).explain(x)
    walks = ShapleyExplainer(
        bumpy,
        reward=reward,
        sampler="antithetic",
        max_rows=28 * len(ROWS) + 1,
        random_state=0,
    )
    found = walks.fit(ROWS).explain(x)
    inside = np.abs(found.values - truth.values) <= 1.96 * found.standard_errors
    assert 98 <= inside.sum() <= 120


def test_the_copula_accepts_any_marginal_distribution():
    """The model undoes the marginal distributions, so its values equal values of normal columns."""
    rng = np.random.default_rng(7)
    rows = rng.multivariate_normal(np.zeros(D), SIGMA / 10, size=1500)
    x = rng.multivariate_normal(np.zeros(D), SIGMA / 10, size=4)

    def exact(function, table, instances, reward="copula"):
        explainer = ShapleyExplainer(function, reward=reward, sampler="exact")
        return explainer.fit(table).explain(instances).values

    plain = exact(bumpy, rows, x)
    skewed = exact(lambda Z: bumpy(np.log(Z)), np.exp(rows), np.exp(x))
    np.testing.assert_allclose(skewed, plain, rtol=0, atol=2e-3)
    normal = exact(bumpy, rows, x, reward="conditional")
    np.testing.assert_allclose(plain, normal, rtol=0, atol=0.1)


def test_the_copula_keeps_the_range_and_discrete_values():
    rng = np.random.default_rng(8)
    z = rng.multivariate_normal(np.zeros(2), [[1, 0.8], [0.8, 1]], size=400)
    rows = np.column_stack([np.exp(z[:, 0]), z[:, 1] > 0.3, np.round(z[:, 0]), z[:, 1]])
    seen = []

    def look(Z):
        seen.append(np.array(Z))
        return Z[:, 0]

    x = np.array([[50.0, 1.0, 9.0, -9.0]])
    equal = np.full(400, 1 / 400)
    made = game(CopulaReward(), function=look, rows=rows, weights=equal, X=x)
    seen.clear()
    ask(made, ALL[1:-1])
    hybrid = np.concatenate(seen)
    for j in range(D):
        absent = hybrid[hybrid[:, j] != x[0, j], j]
        assert absent.min() >= rows[:, j].min()
        assert absent.max() <= rows[:, j].max()
    binary = np.isin(hybrid[:, 1], [0.0, 1.0])
    assert binary.mean() > 0.98  # but for scores between the two


def test_copula_scores_depend_on_ranks():
    reward = CopulaReward()
    equal = np.full(30, 1 / 30)
    made = game(reward, weights=equal)
    ranks = ROWS.argsort(axis=0).argsort(axis=0)
    scores = norm.ppf((ranks + 0.5) / 30)
    sigma, _ = ledoit_wolf(scores / scores.std(axis=0))
    np.testing.assert_allclose(reward.correlation_, sigma, rtol=0, atol=1e-12)
    # against a single row, the value is that of its moved quantiles
    s, r = np.array([True, False, False, True]), 5
    level = np.array(
        [
            np.interp(X[0, j], np.sort(ROWS[:, j]), (np.arange(30) + 0.5) / 30)
            for j in range(D)
        ]
    )
    score = moved(norm.ppf(level), scores[[r]], sigma, s)
    back = [
        np.interp(
            norm.cdf(score[0, j]), (np.arange(30) + 0.5) / 30, np.sort(ROWS[:, j])
        )
        for j in range(D)
    ]
    expected = bumpy(np.where(s, X[0], back)[None])[0]
    found = made(s[None, None], np.array([0]), np.array([[[r]]]))[0, 0, 0]
    assert found == pytest.approx(expected, abs=1e-6)


def test_ties_get_the_middle_of_their_quantiles():
    """Six zeros and four ones: levels .3 and .8; scores of their intervals lead back to them."""
    column = np.repeat([0.0, 1.0], [6, 4])[:, None]
    margins = RankMargins(column, np.full(10, 0.1))
    both = np.array([[0.0], [1.0]])
    scores = margins.standard(both)
    np.testing.assert_allclose(norm.cdf(scores[:, 0]), [0.3, 0.8], rtol=0, atol=1e-12)
    for move, expected in ((0.0, [0, 1]), (0.6, [0, 1]), (-0.4, [0, 1]), (2.0, [1, 1])):
        found = margins.moved(both, scores, np.full((2, 1), move))
        np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=1e-12)


def frame_of(kind):
    names = list("abcd")
    frame = pd.DataFrame(ROWS, columns=names)
    if kind == "polars":
        return pytest.importorskip("polars").from_pandas(frame)
    return frame.astype(np.float32) if kind == "single" else frame


@pytest.mark.parametrize("kind", ["pandas", "single", "polars"])
@pytest.mark.parametrize("reward", ["conditional", "copula"])
def test_the_model_gets_its_own_container(kind, reward):
    table = frame_of(kind)
    seen = []

    def look(Z):
        seen.append(Z)
        return np.asarray(Z["a"]) * np.asarray(Z["b"])

    explainer = ShapleyExplainer(look, reward=reward, sampler="exact").fit(table[:20])
    found = explainer.explain(table[:2]).values
    assert {type(part) for part in seen} == {type(table)}
    assert {tuple(part.columns) for part in seen} == {tuple("abcd")}
    if kind == "single":
        assert {str(dtype) for part in seen for dtype in part.dtypes} == {"float32"}
    plain = ShapleyExplainer(
        lambda Z: Z[:, 0] * Z[:, 1], reward=reward, sampler="exact"
    )
    expected = plain.fit(ROWS[:20]).explain(ROWS[:2]).values
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.slow
def test_workers_change_nothing():
    run = {"reward": "conditional", "sampler": "antithetic", "random_state": 0}
    run["max_rows"] = 38 * len(ROWS) + 1
    alone = ShapleyExplainer(bumpy, **run).fit(ROWS).explain(X).values
    shared = ShapleyExplainer(bumpy, n_jobs=2, **run).fit(ROWS).explain(X).values
    assert np.array_equal(alone, shared)


def test_trees_are_sampled_with_a_reason():
    from sklearn.tree import DecisionTreeRegressor

    model = DecisionTreeRegressor(max_depth=2).fit(ROWS, bumpy(ROWS))
    explainer = ShapleyExplainer(model, reward="conditional").fit(ROWS)
    found = explainer.explain(X)
    assert found.settings.why_sampled == "ConditionalReward has no exact values"
    np.testing.assert_allclose(
        found.values.sum(axis=1),
        model.predict(X) - model.predict(ROWS).mean(),
        rtol=0,
        atol=1e-9,
    )


REFUSED = {
    "text": ({"e": ["u", "v"] * 15}, "column 'e' of the background is"),
    "category": (
        {"e": pd.Categorical(["u", "v"] * 15)},
        "is category: encode it first",
    ),
    "bool": ({"e": [True, False] * 15}, "is bool"),
    "gaps": (
        {"e": [np.nan, 1.0] * 15},
        "column 'e' of the background has missing or infinite",
    ),
    "infinite": ({"e": [np.inf, 1.0] * 15}, "has missing or infinite"),
}


@pytest.mark.parametrize(("columns", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("reward", [ConditionalReward(np.eye(5)), "copula"])
def test_unsupported_columns_are_refused(columns, message, reward):
    table = frame_of("pandas").assign(**columns)
    with pytest.raises(ValueError, match=message):
        ShapleyExplainer(lambda Z: Z["a"], reward=reward).fit(table)


def test_missing_values_in_a_row_to_explain_are_refused():
    explainer = ShapleyExplainer(bumpy, reward="conditional").fit(ROWS)
    with pytest.raises(
        ValueError, match="column 'x1' of the rows to explain has missing"
    ):
        explainer.explain(np.array([[1.0, np.nan, 0.0, 0.0]]))


def test_a_single_background_row_is_refused():
    with pytest.raises(ValueError, match="got 1 sample"):
        ShapleyExplainer(bumpy, reward="conditional").fit(ROWS[:1])
    found = (
        ShapleyExplainer(bumpy, reward=ConditionalReward(SIGMA))
        .fit(ROWS[:1])
        .explain(X)
    )
    assert np.isfinite(found.values).all()


def test_a_covariance_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"covariance of shape \(3, 3\) for 4 columns"):
        ShapleyExplainer(bumpy, reward=ConditionalReward(np.eye(3))).fit(ROWS)
    for wrong in (
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.5], [0.0, 1.0]],
        np.eye(2)[:1],
        "no",
    ):
        with pytest.raises(
            ValueError, match="takes covariance as None or a symmetric matrix"
        ):
            ShapleyExplainer(bumpy, reward=ConditionalReward(wrong)).fit(ROWS)

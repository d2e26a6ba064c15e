"""Importances with intervals, ranks and tests: against truth, quadrature and other code."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from skshapley import (
    Explanation,
    GlobalExplanation,
    GlobalImportance,
    ShapleyExplainer,
    TreeExplainer,
)
from skshapley._inference._means import Means, adjusted, intervals, p_values, ranks
from skshapley._inference._sizes import Noise, debiased_sizes
from skshapley.batches import explain_batches


def record(values, errors=None, **parts):
    """An explanation with these attributions."""
    values = np.asarray(values, dtype=np.float64)
    n, p = values.shape[:2]
    names = np.array([f"x{j}" for j in range(p)], dtype=object)
    ends = np.zeros((n, *values.shape[2:]))
    made = {
        "values": values,
        "standard_errors": errors,
        "base_values": ends,
        "predictions": ends + values.sum(axis=1),
        "data": pd.DataFrame(np.tile(np.arange(n), (p, 1)).T, columns=names),
        "feature_names": names,
        "output_names": None if values.ndim == 2 else np.arange(values.shape[2]),
        "n_evaluations": np.ones(n),
        "n_model_rows": np.ones(n),
        "converged": np.ones(n, dtype=bool),
    }
    return Explanation(**(made | parts))


# --- the size of noisy numbers --------------------------------------------------------

LEFT = 0.2546  # 2 / (2.5 pi), the largest bias of a kernel with a band of 2.5


def mean_over_noise(size, phi, s=1.0):
    """The mean of `size(phi + s e, s)` over normal e, by the trapezoidal rule."""
    e, step = np.linspace(-9, 9, 4001, retstep=True)
    noisy = np.asarray(phi)[:, None] + s * e
    return (size(noisy, np.full(noisy.shape, s)) * stats.norm.pdf(e)).sum(axis=1) * step


def test_remaining_bias():
    phi, step = np.linspace(-8, 8, 801, retstep=True)
    bias = mean_over_noise(debiased_sizes, phi) - np.abs(phi)
    before = mean_over_noise(lambda v, s: np.abs(v), phi) - np.abs(phi)
    assert before.max() == pytest.approx(np.sqrt(2 / np.pi), abs=1e-3)
    assert np.abs(bias).max() == pytest.approx(LEFT, abs=2e-3)
    for width, share in (
        (0.5, 0.08),
        (1.0, 0.01),
    ):  # of what attributions so wide had before
        density = stats.norm.pdf(phi, scale=width) * step
        assert abs(bias @ density) < share * (before @ density)


def test_importances_scale_and_exact_ones_are_unchanged():
    phi = np.array([0.3, -2.0])
    np.testing.assert_allclose(
        mean_over_noise(debiased_sizes, 1e-3 * phi, 1e-3),
        1e-3 * mean_over_noise(debiased_sizes, phi),
    )
    sizes = debiased_sizes(np.array([0.3, -2.0, 1.0]), np.array([0.0, np.nan, 1e-9]))
    np.testing.assert_allclose(sizes, [0.3, 2.0, 1.0], rtol=1e-12)


def test_noise_is_limited_by_the_values():
    rng = np.random.default_rng(0)
    values = np.stack(
        [rng.normal(size=2000), np.full(2000, 0.01), 10 * rng.normal(size=2000)]
    )
    values = values.T
    errors = np.ones(values.shape)
    errors[:100, 2] = 50.0  # of rows with few degrees of freedom
    noise = Noise.of(values, errors)
    np.testing.assert_allclose(noise.limits, [1.0, 0.01 / 0.6745, 1.5], rtol=0.1)
    assert noise.exempt.tolist() == [False, True, False]
    sizes = noise.sizes(values, errors)
    assert (sizes[:, 1] == 0.01).all()
    limited = np.minimum(errors[:, 2], noise.limits[2])
    np.testing.assert_allclose(sizes[:, 2], debiased_sizes(values[:, 2], limited))
    most = noise.most_bias(errors)
    np.testing.assert_allclose(
        most[0], [LEFT, np.sqrt(2 / np.pi) * 0.0148, 1.5 * LEFT], rtol=0.1
    )
    unknown = Noise.of(values, np.full(values.shape, np.nan))
    assert np.isnan(unknown.limits).all()
    np.testing.assert_allclose(
        unknown.sizes(values, np.full(values.shape, np.nan)), np.abs(values)
    )


@pytest.mark.slow
@pytest.mark.parametrize("budget", [2, 4, 10])
def test_debiased_means_of_a_model(budget):
    """At budgets of 2 d, 4 d, 10 d evaluations per row: within 1.1 standard errors of the truth."""
    X, y = load_diabetes(return_X_y=True)
    model, d = (
        HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8).fit(X, y),
        X.shape[1],
    )
    truth = TreeExplainer(model).fit(X[:100]).explain(X[100:250])
    expected = np.abs(truth.values).mean(axis=0)
    scores = []
    for seed in range(3):
        explainer = ShapleyExplainer(
            model.predict, max_rows=16 * budget * d + 2, random_state=seed
        ).fit(X[:100])
        table = explainer.explain(X[100:250]).importance(confidence=0.95)
        table = table.loc[truth.feature_names.tolist()]
        scores.append((table["importance"] - expected) / table["standard_error"])
    assert np.sqrt(np.mean(np.square(scores))) < 1.1


# --- intervals and ranks --------------------------------------------------------------

N, P = 300, 8
CENTRES, WIDTHS = np.linspace(0, 1.5, P), np.linspace(1.5, 0.5, P)
# The mean size of normal attributions
TRUTH = WIDTHS * np.sqrt(2 / np.pi) * np.exp(
    -((CENTRES / WIDTHS) ** 2) / 2
) + CENTRES * (1 - 2 * stats.norm.cdf(-CENTRES / WIDTHS))


def runs(noise, n_runs, seed=0):
    """Explanations of 300 rows with normal, correlated attributions, with noise."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(0.5 * np.eye(P) + 0.5)
    for _ in range(n_runs):
        phi = CENTRES + WIDTHS * (rng.normal(size=(N, P)) @ root.T)
        errors = noise * rng.uniform(0.5, 1.5, size=phi.shape)
        yield record(rng.normal(phi, errors), errors)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_intervals_cover_all_players_simultaneously(noise):
    """In 91 to 98.5 % of 300 runs; the count of a right method is outside in 1 of 300."""
    held, placed, z = [], [], []
    place = stats.rankdata(-TRUTH)
    for explanation in runs(noise, 300):
        table = explanation.importance(confidence=0.95).loc[
            explanation.feature_names.tolist()
        ]
        held.append(table["low"].le(TRUTH).all() and table["high"].ge(TRUTH).all())
        placed.append(
            table["best_rank"].le(place).all() and table["worst_rank"].ge(place).all()
        )
        z.append((table["importance"] - TRUTH) / table["standard_error"])
    assert 0.91 <= np.mean(held) <= 0.985
    assert np.mean(placed) >= 0.91
    assert np.sqrt(np.mean(np.square(z), axis=0)).max() < 1.1


SKEWED = {
    "lognormal": lambda rng, n: np.exp(rng.normal(size=(n, 5))) - np.exp(0.5),
    "rare": lambda rng, n: (rng.random((n, 5)) < 0.02) - 0.02,
}


@pytest.mark.parametrize(
    ("runs", "share"), [(25, 0.8), pytest.param(200, 0.9, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("n", [30, 200])
@pytest.mark.parametrize("law", SKEWED)
def test_intervals_cover_for_skewed_attributions(law, n, runs, share):
    """Five misses in 25 runs, or 20 in 200: at the nominal 5 %, more for 1 seed of 800."""
    rng = np.random.default_rng(0)
    truth = np.abs(SKEWED[law](np.random.default_rng(1), 1_000_000)).mean()
    held = []
    for _ in range(runs):
        table = record(SKEWED[law](rng, n)).importance(confidence=0.95)
        held.append(table["low"].le(truth).all() and table["high"].ge(truth).all())
    assert np.mean(held) >= share


def test_intervals_of_ten_long_tails_hold_together():
    """Intervals held .83 of such samples before, and hold .98 of 400 now.

    Four misses in 40 runs are more than 1 in 500 seeds have.
    """
    rng = np.random.default_rng(0)
    centre = np.exp(0.5)
    truth = np.abs(np.exp(np.random.default_rng(1).normal(size=10**6)) - centre).mean()
    held = []
    for _ in range(40):
        table = record(np.exp(rng.normal(size=(100, 10))) - centre).importance(
            confidence=0.95
        )
        held.append(table["low"].le(truth).all() and table["high"].ge(truth).all())
    assert np.mean(held) > 0.9


def mixed(rng, n):
    """Attributions: normal, lognormal, exponential, rare and of categories; some correlated."""
    z = rng.multivariate_normal(np.zeros(3), 0.5 * np.eye(3) + 0.5, n)
    u = rng.random((n, 3))
    rare = 3.0 * ((u < [0.02, 0.03, 0.05]) - [0.02, 0.03, 0.05])
    levels = np.array([-1.0, 0.5, 0.2, 1.5, -0.3])
    category = levels[rng.choice(5, n, p=[0.4, 0.3, 0.2, 0.07, 0.03])]
    scaled = rare[:, 1] * (1 + 0.3 * rng.normal(size=n))
    lognormal = np.exp(np.column_stack([z[:, 2], rng.normal(size=n)])) - np.exp(0.5)
    others = [z[:, 0], z[:, 1] * (1 + 0.3 * z[:, 0]), scaled, category]
    values = np.column_stack([rare[:, [0, 2]], lognormal, *others])
    data = pd.DataFrame(values, columns=[f"x{j}" for j in range(8)])
    data["x6"] = u[:, 1] < 0.03
    return record(values, data=data)


@pytest.mark.parametrize(
    ("runs", "share"), [(20, 0.8), pytest.param(300, 0.92, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("n", [30, 300])
def test_intervals_of_mixed_columns_hold_together(n, runs, share):
    """Three misses in 20 runs, or 24 in 300: at the nominal 5 %, more for 1 seed of 60 and 100.

    Before, .83 of the charts of 30 rows held, and of 300 rows most ends were infinite.
    """
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(8)]
    truth = np.abs(mixed(np.random.default_rng(1), 400_000).values).mean(axis=0)
    tables = [mixed(rng, n).importance(confidence=0.95).loc[names] for _ in range(runs)]
    held = [
        (table["low"].le(truth) & table["high"].ge(truth)).all() for table in tables
    ]
    finite = np.mean([np.isfinite(table["high"]) for table in tables], axis=0)
    assert np.mean(held) >= share
    assert finite[[2, 3, 4, 5, 7]].all()
    assert n == 30 or finite.mean() > 0.99


def test_unseen_attributions_leave_the_upper_end_open():
    """Equal attributions give no bound of the largest ones; a single different one does."""
    values = np.random.default_rng(0).normal(size=(200, 4))
    values[:, 1:3], values[0, 2], values[:, 3] = 0.02, 5.0, 0.0
    table = record(values).importance(confidence=0.95).loc[["x0", "x1", "x2", "x3"]]
    assert np.isinf(table["high"]).tolist() == [False, True, False, False]
    # the limit of a share of which 1 in 200 is seen, by Clopper & Pearson: 3 to 4 %
    assert 0.15 < table.loc["x2", "high"] < 0.25
    assert table.loc["x3", ["low", "high"]].tolist() == [0.0, 0.0]  # not used
    assert table["low"].ge(0).all()
    assert table["best_rank"].tolist()[3] == 2


@pytest.mark.parametrize(("n", "infinite"), [(100, True), (300, False)])
def test_a_feature_with_a_single_value_has_no_upper_end_in_few_rows(n, infinite):
    values = np.random.default_rng(0).normal(size=(n, 2))
    explanation = record(values)
    explanation.data["x1"] = "never set"
    table = explanation.importance(confidence=0.95)
    assert np.isinf(table.loc[["x0", "x1"], "high"]).tolist() == [False, infinite]


def test_rounding_errors_of_unused_features_are_no_unseen_events():
    """They had an infinite interval and each rank, and all others one rank too many."""
    X = np.random.default_rng(0).normal(size=(200, 5))
    background = X[:20].copy()
    X[:, 4] = 1.0

    def model(X):
        return X[:, 0] + 0.3 * X[:, 1] + 0.1 * X[:, 2] + X[:, 0] * X[:, 1]

    explanation = ShapleyExplainer(model).fit(background).explain(X)
    unused = np.abs(explanation.values[:, 3:]).max(axis=0)
    assert (unused > 0).all()
    assert (unused < 1e-14).all()
    table = explanation.importance(confidence=0.95)
    assert table["high"].max() < 2
    assert table["best_rank"].tolist() == [1, 2, 3, 4, 4]
    assert table["worst_rank"].tolist() == [1, 2, 3, 5, 5]
    y = model(X) + np.random.default_rng(1).normal(size=200)
    sage = GlobalImportance(model, loss="squared_error").fit(background)
    table = sage.explain(X, y).importance()
    unused = table.loc[["x3", "x4"]]
    assert unused[["low", "high"]].abs().to_numpy().max() < 1e-12
    assert (unused["p_value"] == 1).all()


def test_bias_correction_widens_intervals():
    """Wrong for less than 1 seed of 1000: means of 25 runs with errors of .2."""
    z = {"plain": [], "debiased": []}
    for explanation in runs(1.0, 25):
        names = explanation.feature_names.tolist()
        table = explanation.importance(confidence=0.95).loc[names]
        alone = explanation.importance(confidence=0.95, simultaneous=False).loc[names]
        plain = explanation.importance().loc[names]
        width, narrow = table["high"] - table["low"], alone["high"] - alone["low"]
        assert (width > 1.2 * narrow).all()
        assert table["rank"].tolist() == stats.rankdata(-table["importance"]).tolist()
        assert table["rank"].between(table["best_rank"], table["worst_rank"]).all()
        np.testing.assert_allclose(
            narrow, 2 * stats.t.ppf(0.975, N - 1) * alone["standard_error"], rtol=0.02
        )
        z["plain"].append((plain["importance"] - TRUTH) / plain["standard_error"])
        z["debiased"].append((table["importance"] - TRUTH) / table["standard_error"])
    assert np.mean(z["plain"], axis=0).min() > 1
    assert np.abs(np.mean(z["debiased"], axis=0)).max() < 0.2 * 4


def test_critical_value_of_independent_means_is_that_of_sidak():
    means = Means(np.zeros(20), np.eye(20), 1e9, *np.zeros((3, 20)))
    low, high = intervals(means, 0.95, simultaneous=True)
    sidak = stats.norm.ppf((1 + 0.95 ** (1 / 20)) / 2)
    np.testing.assert_allclose(high, sidak, rtol=0.015)
    np.testing.assert_allclose(low, -high)
    _, high = intervals(
        Means(np.zeros(20), np.ones((20, 20)), 1e9, *np.zeros((3, 20))),
        0.95,
        simultaneous=True,
    )
    np.testing.assert_allclose(high, 1.96, rtol=0.02)


def test_possible_ranks():
    errors = np.diag([1e-4, 1e-4, 1e-4, 0.0])
    rank, best, worst = ranks(
        Means(np.array([1.0, 5.0, 1.01, 0.0]), errors, 500, *np.zeros((3, 4))),
        0.95,
        True,
    )
    assert rank.tolist() == [3, 1, 2, 4]
    assert best.tolist() == [2, 1, 2, 4]
    assert worst.tolist() == [3, 1, 3, 4]
    one = Means.of(np.ones((1, 2)), np.ones(1))
    assert [part.tolist() for part in ranks(one, 0.95, True)] == [
        [1, 2],
        [1, 1],
        [2, 2],
    ]


def test_means_accumulate_over_batches():
    scores = np.random.default_rng(0).normal(3, 1, size=(100, 4)).cumsum(axis=1)
    whole = Means.of_batches(np.split(scores, [1, 30, 30, 85]))
    weighted = Means.of(scores, np.full(100, 0.01))
    for means in (whole, weighted):
        np.testing.assert_allclose(means.values, scores.mean(axis=0))
        np.testing.assert_allclose(means.covariance, np.cov(scores.T) / 100)
        np.testing.assert_allclose(means.third, stats.moment(scores, 3, axis=0) / 1e4)
        assert means.n == pytest.approx(100)


def test_importance_of_several_outputs_and_cohorts():
    values = np.random.default_rng(0).normal(size=(40, 3, 2)) * [1.0, 1e200]
    explanation = record(values, 0.1 * np.abs(values))
    table = explanation.importance(confidence=0.9)
    assert table.index.names == ["output", "feature"]
    for output in (0, 1):
        own = explanation.output(output).importance(confidence=0.9, simultaneous=False)
        ours = explanation.importance(confidence=0.9, simultaneous=False).loc[output]
        pd.testing.assert_frame_equal(ours, own)
    assert np.isfinite(table[["low", "high"]]).all(axis=None)
    cohorts = np.arange(40) < 15
    part = explanation.importance(cohorts, confidence=0.9).loc[True]
    pd.testing.assert_frame_equal(part, explanation[:15].importance(confidence=0.9))


def test_gaussian_process_estimates_are_not_corrected():
    explanation = record(np.array([[0.1], [0.2], [-0.3]]), np.full((3, 1), 0.3))
    settings = dataclasses.replace(explanation.settings, solver="GaussianProcess()")
    shrunk = dataclasses.replace(explanation, settings=settings).importance(
        confidence=0.9
    )
    assert shrunk["importance"].item() == pytest.approx(0.2)
    assert explanation.importance(confidence=0.9)["importance"].item() < 0.1


@pytest.mark.parametrize(
    "asked", [{"confidence": 1.0}, {"confidence": 0.9, "simultaneous": 1}]
)
def test_invalid_confidence_is_refused(asked):
    with pytest.raises(
        ValueError, match=r"Explanation\.importance takes (confidence|simultan)"
    ):
        record(np.ones((3, 2))).importance(**asked)


def test_datasets_give_the_same_batch_by_batch(tmp_path):
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(0).normal(size=(60, 3))
    explainer = ShapleyExplainer(
        lambda X: X[:, 0] * X[:, 1] + X[:, 2],
        sampler="antithetic",
        max_rows=600,
        random_state=0,
    ).fit(X[:20])
    dataset = explain_batches(explainer, X, tmp_path / "phi", batch_rows=25)
    expected = dataset.read().importance(confidence=0.9)
    pd.testing.assert_frame_equal(dataset.importance(0.9), expected, rtol=1e-12)


# --- tests ----------------------------------------------------------------------------


def test_sage_tests_are_t_tests():
    values = np.random.default_rng(0).normal([0.0, 0.5, -0.5, 0.0], size=(50, 4))
    values[:, 3] = 0.0
    table = GlobalExplanation(record(values), np.full(50, 0.02)).importance(0.95)
    table = table.loc[["x0", "x1", "x2", "x3"]]
    expected = stats.ttest_1samp(values[:, :3], 0, alternative="greater").pvalue
    np.testing.assert_allclose(table["p_value"], [*expected, 1.0])
    by = stats.false_discovery_control(np.append(expected, 1.0), method="by")
    np.testing.assert_allclose(table["p_adjusted"], by)
    two_sided = p_values(Means.of(values[:, :3], np.full(50, 0.02)), two_sided=True)
    np.testing.assert_allclose(two_sided, stats.ttest_1samp(values[:, :3], 0).pvalue)
    assert np.isnan(adjusted(np.array([np.nan, 0.01]))).tolist() == [True, False]


def test_sage_intervals_are_centred_on_the_values():
    values = np.random.default_rng(0).normal([3.0, 0.0], size=(50, 2))
    explanation = GlobalExplanation(record(values), np.arange(1, 51) / (25 * 51))
    table = explanation.importance(0.9, simultaneous=False).loc[["x0", "x1"]]
    np.testing.assert_allclose(table["importance"], explanation.values)
    np.testing.assert_allclose(table["standard_error"], explanation.standard_errors)
    assert table["low"].lt(explanation.values).all()
    assert table["high"].gt(explanation.values).all()
    assert table["rank"].tolist() == [1, 2]
    assert table["best_rank"].tolist() == table["worst_rank"].tolist() == [1, 2]
    with pytest.raises(
        ValueError, match="takes confidence as a number above 0 and below 1; got 2"
    ):
        explanation.importance(2)

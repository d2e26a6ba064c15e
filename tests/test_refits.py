"""Refits: half samples, errors by the training data, common random numbers, comparison."""

from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from skshapley import AmortizedExplainer, Explanation, RefitExplainer, ShapleyExplainer
from skshapley.batches import ExplanationDataset, explain_batches
from skshapley.comparison import compare, compare_refits, drift
from skshapley.exceptions import PartialExplanationError
from skshapley.plots import RefitComparisonDisplay
from skshapley.rewards import ConditionalReward
from skshapley.stopping import RelativeError
from skshapley.trees import TreeExplainer

from .conftest import run_command

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * RNG.normal(size=120)


class Steps(RegressorMixin, BaseEstimator):
    """A model without a closed form."""

    def fit(self, X, y, sample_weight=None):
        self.middle_ = np.average(X, axis=0, weights=sample_weight)
        self.slope_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        above = np.asarray(X) > self.middle_
        return self.slope_ + above[:, 0] * above[:, 1] + 2 * above[:, 2] * X[:, 3]


PAIRS = ShapleyExplainer(
    None, sampler="antithetic", stopping=RelativeError(0.02), max_rows=20_000
)


def sampled(**parameters):
    """An explainer of refits that draws permutations."""
    settings = {"explainer": PAIRS, "random_state": 0, "verbose": False}
    return RefitExplainer(Steps(), **{**settings, **parameters})


@pytest.fixture(scope="module")
def steps():
    return sampled(n_refits=4).fit(X, Y)


@pytest.fixture(scope="module")
def explanation(steps):
    return steps.explain(X[:5])


# --- samples --------------------------------------------------------------------------


def test_half_samples_keep_the_shares_of_classes():
    y = np.repeat(["a", "b", "c"], [60, 55, 5])
    explainer = RefitExplainer(LogisticRegression(), random_state=0).fit(X, y)
    assert len(explainer.samples_) == explainer.n_refits_ == 10
    for rows in explainer.samples_:
        counts = pd.Series(y[rows]).value_counts()
        assert counts["a"] == 30
        assert counts["b"] in (27, 28)
        assert counts["c"] in (2, 3)
        assert len(np.unique(rows)) == len(rows)
    # an odd row is in half of the samples, not in all or none
    assert len({len(rows) for rows in explainer.samples_}) > 1


def test_a_class_of_one_row_is_in_each_sample():
    y = np.append(np.zeros(60, dtype=int), [1] * 59 + [2])
    explainer = RefitExplainer(LogisticRegression(), n_refits=3, random_state=0)
    assert explainer.fit(X, y).explain(X[:1]).values.shape == (1, 4, 3)


def test_groups_are_drawn_whole():
    groups = np.repeat(np.arange(20), 6)
    explainer = RefitExplainer(LinearRegression(), random_state=0)
    explainer.fit(X, Y, groups=RNG.permutation(groups.astype(str)))
    explainer.fit(X, Y, groups=groups)
    for rows in explainer.samples_:
        assert (np.bincount(groups[rows], minlength=20) % 6 == 0).all()
        assert len(rows) == 60
    assert explainer.explain(X[:1]).settings.refits == "10 half samples of whole groups"


def test_blocks_are_successive_rows():
    explainer = RefitExplainer(LinearRegression(), blocks=8, random_state=0).fit(X, Y)
    for rows in explainer.samples_:
        assert sorted(np.bincount(rows // 15, minlength=8)) == [0] * 4 + [15] * 4
    assert explainer.explain(X[:1]).settings.refits == "10 half samples of 8 blocks"


def test_rows_are_equally_likely():
    """A row is in about half of 200 samples: 5 standard deviations."""
    explainer = RefitExplainer(LinearRegression(), n_refits=200, random_state=0)
    rows = np.concatenate(explainer.fit(X[:20], Y[:20]).samples_)
    assert np.abs(np.bincount(rows) - 100).max() < 5 * np.sqrt(50)


def test_plain_comparisons_name_the_test_of_retraining(explanation):
    compared = compare(explanation, explanation[::-1], names=("a", "b"))
    assert repr(compared).endswith("5 and 5 rows; compare_refits includes retraining>")
    plain = replace(explanation, refit_values=None)
    assert "retraining" not in repr(compare(plain, explanation))


def test_commands_read_folders_with_refits(steps, tmp_path, capsys):
    folder = str(tmp_path / "phi")
    explain_batches(steps, X[:5], folder, verbose=False)
    assert run_command(["status", folder]) == 0
    assert "5 rows" in capsys.readouterr().out
    report = tmp_path / "a.html"
    assert run_command(["report", folder, "--out", str(report)]) == 0
    assert '"refit":[[' in report.read_text()
    picture = tmp_path / "a.svg"
    command = ["plot", folder, "--kind", "waterfall", "--row", "0"]
    assert run_command([*command, "--out", str(picture)]) == 0
    assert "training data" in " ".join(picture.read_text().split())


# --- errors ---------------------------------------------------------------------------


def test_errors_of_least_squares_agree_with_their_formula():
    """The covariance of coefficients is s^2 (X'X)^-1; 60 refits know a variance to 18 %."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(800, 4)) * [1, 2, 3, 4]
    y = Z @ [1, 1, 0, 0] + rng.normal(size=800)
    explainer = RefitExplainer(LinearRegression(), n_refits=60, random_state=0)
    explanation = explainer.fit(Z, y).explain(Z[:3])
    design = np.column_stack([np.ones(800), Z])
    residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    inverse = np.linalg.inv(design.T @ design)
    variances = np.diag(inverse)[1:] * (residuals @ residuals)
    expected = np.sqrt(variances / 795) * np.abs(Z[:3] - Z.mean(axis=0))
    ratio = explanation.refit_errors / expected
    assert ratio.min() > 0.7
    assert ratio.max() < 1.5
    np.testing.assert_allclose(ratio, np.tile(ratio[0], (3, 1)))  # one per coefficient


def test_errors_are_widened_standard_deviations(explanation):
    values = np.stack(np.moveaxis(explanation.refit_values, 2, 0))
    widening = stats.t.ppf(0.975, 3) / stats.norm.ppf(0.975)
    expected = values.std(axis=0, ddof=1) * widening
    np.testing.assert_allclose(explanation.refit_errors, expected)
    signs = (np.sign(values) == np.sign(explanation.values)).mean(axis=0)
    np.testing.assert_allclose(explanation.sign_stability, signs)
    ranks = [stats.rankdata(-np.abs(v), axis=1) for v in values]
    expected = stats.rankdata(-np.abs(explanation.values), axis=1)
    np.testing.assert_allclose(
        explanation.rank_stability, np.mean([r == expected for r in ranks], axis=0)
    )


def test_refits_are_the_models_of_the_half_samples():
    explainer = RefitExplainer(LinearRegression(), n_refits=3, random_state=0)
    explanation = explainer.fit(X, Y).explain(X[:2])
    for place, rows in enumerate(explainer.samples_):
        model = LinearRegression().fit(X[rows], Y[rows])
        expected = model.coef_ * (X[:2] - X.mean(axis=0))
        np.testing.assert_allclose(explanation.refit_values[:, :, place], expected)


def test_equal_models_have_no_refit_errors():
    """All models have the same permutations and background rows."""
    model = Steps().fit(X, Y)
    same = [model, Steps().fit(X, Y)]
    explainer = RefitExplainer(model, models=same, explainer=PAIRS, random_state=0)
    explanation = explainer.fit(X).explain(X[:4])
    assert (explanation.standard_errors > 0).any()
    assert (explanation.refit_errors == 0).all()
    assert explanation.settings.refits == "2 given models"


def test_a_fitted_model_is_explained_as_it_is():
    fitted = LinearRegression().fit(X[:30], Y[:30])
    explainer = RefitExplainer(fitted, random_state=0).fit(X, Y)
    assert explainer.estimator_ is fitted
    plain = ShapleyExplainer(fitted).fit(X).explain(X[:3])
    np.testing.assert_array_equal(explainer.explain(X[:3]).values, plain.values)
    fresh = RefitExplainer(LinearRegression(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(
        fresh.estimator_.coef_, LinearRegression().fit(X, Y).coef_
    )
    assert not hasattr(fresh.estimator, "coef_")


def test_other_seeds_show_the_noise_of_random_fits():
    errors = {}
    for seeds_only in (False, True):
        forest = RandomForestRegressor(10, random_state=0)
        explainer = RefitExplainer(forest, seeds_only=seeds_only, random_state=0)
        errors[seeds_only] = explainer.fit(X, Y).explain(X[:8]).refit_errors.mean()
    assert 0 < errors[True] < 0.8 * errors[False]
    assert explainer.samples_ is None
    assert explainer.estimator_.random_state == 0
    assert len({model.random_state for model in explainer.estimators_}) == 10
    constant = RefitExplainer(LinearRegression(), seeds_only=True, random_state=0)
    assert constant.fit(X, Y).explain(X[:2]).refit_errors.max() < 1e-12


def test_weights_reach_the_fits_and_the_background():
    """Weights of whole numbers count as copies of rows in the fit of the model."""
    weights = np.r_[np.full(60, 2.0), np.ones(60)]
    model = make_pipeline(StandardScaler(with_std=False), LinearRegression())
    explainer = RefitExplainer(model, random_state=0)
    explainer.fit(X, Y, sample_weight=weights)
    copies = np.r_[np.arange(60), np.arange(120)]
    expected = LinearRegression().fit(X[copies], Y[copies])
    np.testing.assert_allclose(explainer.estimator_[-1].coef_, expected.coef_)
    np.testing.assert_allclose(explainer.background_weights_, weights / weights.sum())
    for rows, refit in zip(explainer.samples_, explainer.estimators_, strict=True):
        half = LinearRegression().fit(X[rows], Y[rows], weights[rows])
        np.testing.assert_allclose(refit[-1].coef_, half.coef_)


def test_functions_may_fit_models_with_a_validation_part():
    lengths = []

    def fit(X, y, sample_weight=None):
        lengths.append(len(X))
        model = HistGradientBoostingRegressor(
            max_iter=3, early_stopping=True, random_state=0
        )
        return model.fit(X, y, sample_weight)

    explainer = RefitExplainer(fit, n_refits=2, random_state=0)
    explanation = explainer.fit(X, Y, sample_weight=np.ones(120)).explain(X[:1])
    assert lengths == [120, 60, 60]
    assert explanation.refit_values.shape == (1, 4, 2)


def test_frames_with_texts_pass_through_pipelines():
    frame = pd.DataFrame({"x": X[:, 0], "job": np.where(X[:, 1] > 0, "cook", "pilot")})
    columns = make_column_transformer(
        (OneHotEncoder(), ["job"]), remainder="passthrough"
    )
    model = make_pipeline(columns, LinearRegression())
    explainer = RefitExplainer(model, frame[::4], random_state=0).fit(frame, Y)
    explanation = explainer.explain(frame[:2])
    assert len(explainer.background_) == 30
    assert explanation.feature_names.tolist() == ["x", "job"]
    assert (explanation.refit_errors > 0).all()


def test_settings_come_from_an_explainer():
    settings = ShapleyExplainer(
        None, groups={"pair": ["x0", "x1"]}, response_method="log_odds", max_rows=300
    )
    explainer = RefitExplainer(
        LogisticRegression(), explainer=settings, n_refits=2, random_state=0
    )
    explanation = explainer.fit(X, Y > 0).explain(X[:1])
    assert explanation.feature_names.tolist() == ["pair", "x2", "x3"]
    assert explanation.settings.response_method == "log_odds"
    assert settings.estimator is None
    trees = RefitExplainer(
        RandomForestClassifier(3, random_state=0),
        explainer=TreeExplainer(None, interactions=True),
        n_refits=2,
        random_state=0,
    )
    explanation = trees.fit(X, Y > 0).explain(X[:1])
    assert explanation.interactions is not None
    assert trees.exact_ is not None
    reward = ShapleyExplainer(None, reward=ConditionalReward(), max_rows=300)
    explainer = sampled(explainer=reward, n_refits=2).fit(X, Y)
    assert explainer.explain(X[:1]).settings.reward == "ConditionalReward()"


def test_automatic_numbers_grow_for_heavy_tails():
    """Half samples with or without an outlier: most predictions are near two values."""
    usual = RefitExplainer(LinearRegression(), n_refits="auto", random_state=0)
    assert usual.fit(X, Y).n_refits_ == 10

    def fit(X, y):
        """Return a constant, which is large in one sample of eight, with all outliers."""
        level = 100.0 if (y > 100).sum() == 3 else y.mean() / 100
        return lambda rows: np.full(len(rows), level)

    y = np.append(Y[:-3], [1e3, 1e3, 1e3])
    heavy = RefitExplainer(fit, n_refits="auto", random_state=0)
    assert 10 < heavy.fit(X, y).n_refits_ <= 40


# --- reproducibility ------------------------------------------------------------------


def test_results_do_not_depend_on_workers(explanation):
    for n_jobs, backend in ((2, "threading"), (1, None)):
        with joblib.parallel_config(backend or "loky"):
            again = sampled(n_refits=4, n_jobs=n_jobs).fit(X, Y).explain(X[:5])
        np.testing.assert_array_equal(again.refit_values, explanation.refit_values)
        np.testing.assert_array_equal(again.values, explanation.values)


class NeedsNames(RegressorMixin, BaseEstimator):
    """It selects a column by its name, from the output of a transformer."""

    def fit(self, X, y):
        self.slope_ = X[X.columns[0]] @ y
        return self

    def predict(self, X):
        return self.slope_ * np.asarray(X)[:, 0]


@pytest.mark.parametrize(
    "backend",
    ["threading", pytest.param("multiprocessing", marks=pytest.mark.slow)],
)
def test_refits_have_the_configuration_on_every_backend(backend):
    """Results of scikit-learn's `config_context`, also without generators of joblib."""
    model = make_pipeline(StandardScaler(), NeedsNames())
    with sklearn.config_context(transform_output="pandas"):
        expected = RefitExplainer(model, n_refits=2, random_state=0).fit(X, Y)
        with joblib.parallel_config(backend, n_jobs=2):
            fitted = RefitExplainer(model, n_refits=2, random_state=0).fit(X, Y)
        for one, other in zip(expected.estimators_, fitted.estimators_, strict=True):
            np.testing.assert_array_equal(one.predict(X), other.predict(X))


def test_a_row_alone_has_the_same_refits(steps, explanation):
    for row in range(3):
        alone = steps.explain(X[[row]])
        np.testing.assert_array_equal(
            alone.refit_values[0], explanation.refit_values[row]
        )


class Unstable(RegressorMixin, BaseEstimator):
    """A tree without a closed form."""

    def fit(self, X, y):
        self.tree_ = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
        return self

    def predict(self, X):
        return self.tree_.predict(X)


def test_refits_stop_when_sampling_errors_are_small():
    """A third of large refit errors is less precise than the rule for the model."""
    explainer = RefitExplainer(
        Unstable(), explainer=PAIRS, n_refits=4, random_state=0
    ).fit(X, Y)
    plain = clone(PAIRS).set_params(estimator=explainer.estimator_, random_state=0)
    plain, explanation = plain.fit(X).explain(X[:5]), explainer.explain(X[:5])
    np.testing.assert_array_equal(plain.values, explanation.values)
    of_refits = explanation.n_model_rows - plain.n_model_rows
    assert np.median(of_refits / plain.n_model_rows) < 3.5
    assert (explanation.n_evaluations > plain.n_evaluations).all()


class Interrupting(Steps):
    """A model that stops the program when the third refit is explained."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.number_ = type(self).fits
        return super().fit(X, y)

    def predict(self, X):
        if self.number_ == 4 and not getattr(type(self), "calm", False):
            raise KeyboardInterrupt
        return super().predict(X)


def test_an_interruption_keeps_the_finished_refits():
    Interrupting.fits, Interrupting.calm = 0, True
    explainer = RefitExplainer(Interrupting(), n_refits=4, random_state=0)
    explainer.fit(X, Y)
    whole = explainer.explain(X[:2])
    Interrupting.calm = False
    with pytest.raises(PartialExplanationError, match="after 2 of 4 refits") as caught:
        explainer.explain(X[:2])
    partial = caught.value.explanation
    np.testing.assert_array_equal(partial.values, whole.values)
    assert partial.refit_values.shape == (2, 4, 2)
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)


def test_failed_refits_keep_the_earlier_ones():
    def fit(X, y):
        if y[0] != Y[0]:
            raise ArithmeticError("no convergence")
        return LinearRegression().fit(X, y)

    explainer = RefitExplainer(fit, n_refits=6, random_state=0)
    with pytest.raises(
        RuntimeError, match=r"ArithmeticError in one of the refits .*: no"
    ):
        explainer.fit(X, Y)
    assert 0 <= len(explainer.estimators_) < 6


def test_batches_resume_with_the_same_bits(steps, explanation, tmp_path):
    whole = explain_batches(steps, X[:5], tmp_path / "whole", batch_rows=2).read()
    np.testing.assert_array_equal(whole.refit_values, explanation.refit_values)
    explain_batches(steps, X[:5], tmp_path / "cut", batch_rows=2)
    (tmp_path / "cut" / "part-00000001.parquet").unlink()
    again = sampled(n_refits=4).fit(X, Y)
    explain_batches(again, X[:5], tmp_path / "cut", batch_rows=2)
    dataset = ExplanationDataset(tmp_path / "cut")
    np.testing.assert_array_equal(dataset.read().refit_values, whole.refit_values)
    assert dataset.importance()["refit_error"].notna().all()
    other = RefitExplainer(Steps(), n_refits=4, random_state=1).fit(X, Y)
    with pytest.raises(FileExistsError, match=r"random_state|answers"):
        explain_batches(other, X[:5], tmp_path / "cut", batch_rows=2)


# --- records --------------------------------------------------------------------------


def test_refits_survive_files_selections_and_merges(explanation, tmp_path):
    explanation.save(tmp_path / "a.parquet")
    there = Explanation.load(tmp_path / "a.parquet")
    np.testing.assert_array_equal(there.refit_values, explanation.refit_values)
    assert there.settings == explanation.settings
    parts = Explanation.merge([explanation[:2], explanation[2:]])
    np.testing.assert_array_equal(parts.refit_values, explanation.refit_values)
    some = explanation[[3, 1], ["x2", "x0"]]
    np.testing.assert_array_equal(
        some.refit_values, explanation.refit_values[[3, 1]][:, [2, 0]]
    )
    mean = explanation.mean()
    np.testing.assert_allclose(
        mean.refit_values[0], explanation.refit_values.mean(axis=0)
    )
    sizes = abs(explanation).refit_values
    np.testing.assert_array_equal(sizes, np.abs(explanation.refit_values))
    frame = explanation.to_frame("long")
    np.testing.assert_array_equal(
        frame["refit_error"], explanation.refit_errors.ravel()
    )
    plain = replace(explanation, refit_values=None)
    assert plain.to_frame("long")["refit_error"].isna().all()
    assert plain.refit_errors is plain.sign_stability is plain.rank_stability is None
    with pytest.raises(ValueError, match="same number of refits: got 4 and None"):
        Explanation.merge([explanation, plain])


def test_refits_of_several_outputs_survive_files_and_selections(tmp_path):
    y = np.digitize(Y, [-0.5, 0.5])
    explainer = RefitExplainer(LogisticRegression(), n_refits=3, random_state=0)
    explanation = explainer.fit(X, y).explain(X[:4])
    assert explanation.refit_values.shape == (4, 4, 3, 3)
    explanation.save(tmp_path / "a.parquet")
    there = Explanation.load(tmp_path / "a.parquet")
    np.testing.assert_array_equal(there.refit_values, explanation.refit_values)
    one = explanation.output(2)
    np.testing.assert_array_equal(
        one.refit_values, explanation.refit_values[:, :, :, 2]
    )
    np.testing.assert_array_equal(one.refit_errors, explanation.refit_errors[..., 2])
    table = explanation.importance()
    sizes = np.abs(explanation.refit_values).mean(axis=0).std(axis=1, ddof=1)
    ratio = table.loc[2, "refit_error"]["x1"] / sizes[1, 2]
    assert ratio == pytest.approx(stats.t.ppf(0.975, 2) / stats.norm.ppf(0.975))


def test_intervals_of_importances_include_refits(explanation):
    with_refits = explanation.importance(confidence=0.9)
    plain = replace(explanation, refit_values=None).importance(confidence=0.9)
    sizes = np.abs(explanation.refit_values).mean(axis=0)
    deviations = pd.Series(sizes.std(axis=1, ddof=1), explanation.feature_names)
    expected = np.hypot(plain["standard_error"], deviations[plain.index])
    table = with_refits.loc[plain.index]
    np.testing.assert_allclose(table["standard_error"], expected)
    np.testing.assert_allclose(table["refit_error"], deviations[plain.index])
    assert plain["refit_error"].isna().all()
    np.testing.assert_array_equal(table["importance"], plain["importance"])


# --- two models -----------------------------------------------------------------------


def normal(rng, covariance, n_refits, shift=0.0):
    """An explanation of 4 rows and 3 features with normal values and refits."""
    rows, features = 4, 3
    template = ShapleyExplainer(LinearRegression().fit(X[:, :3], Y)).fit(X[:, :3])
    root = np.linalg.cholesky(covariance)
    draws = rng.normal(size=(1 + n_refits, rows * features)) @ root.T
    draws = draws.reshape(-1, rows, features)
    explanation = template.explain(X[:rows, :3])
    refits = np.moveaxis(draws[1:], 0, 2)
    return replace(explanation, values=draws[0] + shift, refit_values=refits)


COVARIANCES = {
    "independent": np.eye(12) + 1e-9,
    "one direction": np.outer(np.arange(1, 13), np.arange(1, 13)) + 1e-6 * np.eye(12),
    "unequal": np.diag(np.geomspace(1, 100, 12)),
}


@pytest.mark.thinned
@pytest.mark.parametrize("name", COVARIANCES)
def test_two_models_of_one_law_rarely_differ(name):
    """At 5 %, 300 tests declare .02 to .08 of the values, rows and features: 2.4 sigma."""
    rng = np.random.default_rng(0)
    shares = {"feature": [], "row": [], "value": []}
    for _ in range(300):
        first, second = (normal(rng, COVARIANCES[name], n) for n in (10, 8))
        comparison = compare_refits(first, second)
        for kind, found in shares.items():
            found.append((comparison.to_frame(kind)["p_value"] < 0.05).mean())
    for kind, found in shares.items():
        assert 0.02 <= np.mean(found) <= 0.08, kind


def test_changed_features_are_found():
    """The shift is four standard errors of a difference."""
    rng = np.random.default_rng(0)
    shift = np.zeros((4, 3))
    shift[:, 1] = 4 * np.sqrt(2)
    found = []
    for _ in range(50):
        first, second = normal(rng, np.eye(12), 10), normal(rng, np.eye(12), 10, shift)
        table = compare_refits(first, second, names=("old", "new")).to_frame()
        assert table.index[0] == "x1"
        found.append(table["p_adjusted"] < 0.05)
        beyond = table["difference"] > table["limit"]
        assert (beyond == (table["p_adjusted"] < 0.05)).all()
    assert pd.concat(found, axis=1).mean(axis=1)["x1"] > 0.95
    assert pd.concat(found, axis=1).mean(axis=1)[["x0", "x2"]].max() < 0.1


def test_single_values_are_tested_by_welch():
    rng = np.random.default_rng(0)
    first, second = normal(rng, np.eye(12), 10), normal(rng, 9 * np.eye(12), 5)
    table = compare_refits(first, second).to_frame("value")
    gap = second.values - first.values
    squares = [part.refit_values.var(axis=2, ddof=1) for part in (first, second)]
    total = sum(squares)
    degrees = total**2 / (squares[0] ** 2 / 9 + squares[1] ** 2 / 4)
    expected = 2 * stats.t.sf(np.abs(gap) / np.sqrt(total), degrees)
    np.testing.assert_allclose(table["p_value"], expected.ravel(), rtol=1e-6)
    np.testing.assert_allclose(table["difference"], gap.ravel())
    assert table.index.names == ["row", "feature"]


def test_outputs_are_compared_together():
    y = np.digitize(Y, [-0.5, 0.5])
    parts = [
        RefitExplainer(LogisticRegression(), X[:20], n_refits=3, random_state=seed)
        .fit(X[rows], y[rows])
        .explain(X[:4])
        for seed, rows in enumerate((slice(0, 60), slice(60, 120)))
    ]
    comparison = compare_refits(*parts)
    assert comparison.to_frame().index.names == ["output", "feature"]
    assert len(comparison.to_frame()) == 12
    assert len(comparison.to_frame("row")) == 4
    lines = comparison.to_frame("value")
    assert lines.index.names == ["row", "output", "feature"]
    assert lines.index.dtypes["output"] == comparison.to_frame().index.dtypes["output"]
    expected = (parts[1].values - parts[0].values)[2, 1, 0]
    assert lines.loc[(2, 0, "x1"), "difference"] == expected


# --- periods with a model each ---------------------------------------------------------


def months(seed, change=0.0):
    """Explanations of four months, each by its own least squares; a slope may change."""
    rng = np.random.default_rng(seed)
    parts = {}
    for month in range(4):
        Z = rng.normal(size=(150, 3))
        slope = [1.0, 2.0, change * (month == 3)]
        y = Z @ slope + rng.normal(size=150)
        explainer = RefitExplainer(
            LinearRegression(), np.zeros((1, 3)), random_state=month, verbose=False
        )
        rows = rng.normal(size=(40, 3)) + 0.5
        parts[f"2026-0{month + 1}"] = explainer.fit(Z, y).explain(rows)
    return parts


@pytest.mark.slow
def test_periods_of_one_law_raise_few_alarms():
    """At 5 %, more than 3 of 20 comparisons have an alarm with probability .02."""
    alarms = [len(drift(months(seed)).alarms) > 0 for seed in range(20)]
    assert sum(alarms) <= 3


def test_changes_beyond_retraining_raise_an_alarm():
    parts = months(0, change=2.0)
    found = drift(parts, kind="importance")
    assert found.alarms[["period", "feature"]].to_numpy().tolist() == [
        ["2026-04", "x2"]
    ]
    assert not found.table["alarm"][found.table["period"] == "2026-01"].any()
    # retraining widens the limits of the rows
    labels = np.repeat([*parts], 40)
    narrow = drift(Explanation.merge(parts.values()), labels, kind="importance").table
    assert (found.table["high"] > narrow["high"]).all()
    assert (found.table["low"] < narrow["low"]).all()


def test_periods_with_models_need_refits():
    parts = months(0)
    plain = replace(parts["2026-01"], refit_values=None)
    with pytest.raises(ValueError, match=r"of which \['a'\] have no refits"):
        drift({"a": plain, "b": parts["2026-02"]})
    with pytest.raises(ValueError, match="no periods= beside it"):
        drift(parts, "x0")


# --- pictures and pages -----------------------------------------------------------------


def test_pictures_show_refit_errors(explanation):
    """The widest bar has all three errors; the label says so."""
    drawn = explanation.plot.waterfall(0)
    frame = drawn.frame()
    total = np.sqrt(
        (frame[["standard_error", "background_error", "refit_error"]] ** 2).sum(axis=1)
    )
    segments = [
        line.get_segments() for line in drawn.ax_.collections if len(line.get_paths())
    ]
    widths = [
        np.abs(s[1][0] - s[0][0]) for part in segments for s in part if len(s) > 1
    ]
    for error in total:
        assert np.isclose(widths, 2 * 1.96 * error).any()
    assert "training data" in " ".join(drawn.ax_.get_xlabel().split())
    bars = explanation.plot.bar()
    expected = explanation.importance()["refit_error"]
    np.testing.assert_allclose(bars.frame()["refit_error"], expected)
    folded = explanation.plot.waterfall(0, max_features=2).frame()
    assert folded["refit_error"].isna().tolist() == [False, False, True]
    points = explanation.plot.beeswarm().frame()
    assert points["refit_error"].notna().all()


def test_reports_have_refit_errors(explanation, tmp_path):
    explanation.report(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert "nothing about what the model gets wrong everywhere" in text
    assert '"refit":[[' in text
    plain = replace(explanation, refit_values=None)
    plain.report(tmp_path / "b.html")
    assert '"refit":null' in (tmp_path / "b.html").read_text()


def test_comparisons_are_drawn():
    rng = np.random.default_rng(0)
    shift = np.zeros((4, 3))
    shift[:, 1] = 10.0
    first, second = normal(rng, np.eye(12), 10), normal(rng, np.eye(12), 10, shift)
    comparison = compare_refits(first, second, names=("May", "June"))
    drawn = RefitComparisonDisplay.from_comparison(comparison, max_features=2)
    assert drawn.frame()["feature"][0] == "x1"
    assert len(drawn.frame()) == 2
    colours = [bar.get_facecolor() for bar in drawn.ax_.patches]
    assert colours[0] != colours[1]
    assert "'June' from 'May'" in drawn.ax_.get_xlabel()


# --- errors ---------------------------------------------------------------------------

WRONG = {
    "n_refits": (1, '"auto" or an int of at least 2; got 1'),
    "models": ([LinearRegression()], "at least two fitted models"),
    "blocks": (1, "an int of at least 4; got 1"),
    "seeds_only": ("yes", "True or False; got 'yes'"),
    "random_state": ("a", "non-negative int"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_parameters_are_refused(name):
    value, message = WRONG[name]
    with pytest.raises(ValueError, match=f"RefitExplainer takes {name} as .*{message}"):
        RefitExplainer(LinearRegression(), **{name: value}).fit(X, Y)


def test_wrong_data_are_refused():
    explainer = RefitExplainer(LinearRegression(), random_state=0)
    with pytest.raises(ValueError, match="an element for each of 120 rows of X; got 3"):
        explainer.fit(X, Y[:3])
    with pytest.raises(
        ValueError, match="at least 8 rows in at least 4 groups; got 120"
    ):
        explainer.fit(X, Y, groups=np.arange(120) % 2)
    amortized = AmortizedExplainer(ShapleyExplainer(LinearRegression()))
    with pytest.raises(TypeError, match="a ShapleyExplainer or TreeExplainer, whose"):
        RefitExplainer(LinearRegression(), explainer=amortized).fit(X, Y)
    y = np.repeat([0, 1, 2], 40)
    with pytest.raises(ValueError, match=r"refit \d+ has .*: pass groups or blocks"):
        RefitExplainer(LogisticRegression(), blocks=6, random_state=0).fit(X, y)


def test_comparisons_need_refits_of_the_same_rows(explanation):
    plain = replace(explanation, refit_values=None)
    with pytest.raises(TypeError, match="without them for 'second': explain both"):
        compare_refits(explanation, plain)
    with pytest.raises(ValueError, match="of the same rows; got 5 and 2"):
        compare_refits(explanation, explanation[:2])
    with pytest.raises(ValueError, match="names as two different str"):
        compare_refits(explanation, explanation, names=("a", "a"))
    with pytest.raises(ValueError, match="kind"):
        compare_refits(explanation, explanation).to_frame("rows")

"""First calls of a new user work, or are answered by one sentence with the right call."""

import copy
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import skshapley
from skshapley import (
    DataShapley,
    GlobalImportance,
    ShapleyExplainer,
    ShapleyImportance,
    TreeExplainer,
    shapley_values,
)

pytestmark = pytest.mark.slow
pytest.importorskip("matplotlib")

WORKS = """
ShapleyExplainer(model, X).explain(X[:3])
ShapleyExplainer(model, X)(X[:3])
ShapleyExplainer(model, X).fit(X[:9])(X[:3])
ShapleyExplainer(model).fit(X).explain(X[:3])
ShapleyExplainer(model).fit(X, y).explain(X[:2])
explainer(X[:3])
explainer(X.iloc[0])
explainer.explain(X.iloc[0].to_dict())
explanation.plot.waterfall(0)
explanation.plot.waterfall(-1, max_features=2)
explanation.plot.bar()
explanation.plot.bar(0)
explanation.plot.beeswarm()
explanation.plot.dependence("petal length")
explanation.plot.dependence(["petal length", "petal width"])
explanation.plot.dependence()
explanation.plot.decision()
explanation.plot.matrix()
explanation.plot.importance()
explanation[0].plot.waterfall()
explanation["petal length"].values
explanation.to_frame()
explanation.report()
explanation.to_frame().to_csv("values.csv")
species.plot.waterfall(0)
species.plot.waterfall(0, output=1)
species.plot.beeswarm(output=2)
species[:, :, 1].plot.bar()
species[..., 1].plot.beeswarm()
explanation.report("new folder/report.html")
explanation.plot.beeswarm().figure_.savefig("beeswarm.png")
explanation.abs.mean(0)
skshapley.Explanation.merge([explanation, explanation])
skshapley.Explanation.merge(explanation, explanation)
explanation[:, ["petal length", "petal width"]].values
explanation[explanation.data["petal length"] > 3].plot.bar()
explanation.loc[0].plot.waterfall()
np.abs(explanation).mean(axis=0)
pd.DataFrame(explanation)
copy.deepcopy(explainer)(X[:1])
pickle.loads(pickle.dumps(explainer)).explain(X[:2])
explainer.explain(X[X.columns[::-1]][:2])
explainer.explain(X[:2].to_dict("records"))
ShapleyExplainer(model.predict_proba, X[::5])(X[:2])
ShapleyExplainer(model).fit(X).fit(X[::3]).explain(X[:2])
ShapleyExplainer(model).fit_transform(X[::9])
TreeExplainer(model).fit(X)(X[:2])
GridSearchCV(make_pipeline(explainer, several), {"shapleyexplainer__max_rows": [300]}, cv=2)
""".strip().splitlines()

# What is typed, and what the one sentence that answers contains
ANSWERED = {
    "ShapleyExplainer(X, model).explain(X[:3])": "call ShapleyExplainer(model).fit(X_train)",
    "ShapleyExplainer(X).fit(X)": "call ShapleyExplainer(model).fit(X_train)",
    "ShapleyExplainer(model, data=X)": "did you mean background=",
    "ShapleyExplainer(model, masker=X)": "did you mean background=",
    "ShapleyExplainer(model, seed=0)": "did you mean random_state=0",
    "ShapleyExplainer(model, random_seed=0)": "did you mean random_state=0",
    "ShapleyExplainer(model, model_output='probability')": "response_method='predict_proba'",
    "ShapleyExplainer(model, link='logit')": "response_method='log_odds'",
    "ShapleyExplainer(model, nsamples=100)": "did you mean max_rows=",
    "ShapleyExplainer(model, max_evals=100)": "did you mean max_rows=",
    "ShapleyExplainer(model, feature_names=list('abcd'))": "pass DataFrames",
    "ShapleyExplainer(model, algorithm='tree')": "leave it out",
    "ShapleyExplainer(model, njobs=2)": "did you mean n_jobs=2",
    "ShapleyExplainer(model, interaction=True)": "did you mean interactions=True",
    "ShapleyExplainer(model=model)": "did you mean estimator=",
    "ShapleyExplainer()": "needs the fitted model as its first argument",
    "ShapleyExplainer(model, frobnicate=1)": "choose among estimator, background",
    "ShapleyExplainer(model, response_method='probability').fit(X)": "'predict_proba'?",
    "ShapleyExplainer(model, response_method='logit').fit(X)": "'log_odds'?",
    "ShapleyExplainer(model, response_method='margin').fit(X)": "'log_odds'?",
    "ShapleyExplainer(model, response_method='raw').fit(X)": "'log_odds'?",
    "ShapleyExplainer(model, sampler='permutation').fit(X)": "'antithetic'?",
    "ShapleyExplainer(model, reward='marginal').fit(X)": "'interventional'?",
    "ShapleyExplainer(several, output=7).fit(X)": "choose None, 0, 1, 2",
    "ShapleyExplainer(model).explain(X)": ".fit(X_train)",
    "ShapleyExplainer(model).background_": "call fit(X_train)",
    "ShapleyExplainer(model).fit()": "fit(X, y, sample_weight)",
    "ShapleyExplainer(RandomForestClassifier()).fit(X)": "fit it first",
    "explainer.shap_values(X)": "explain(X).values",
    "explainer.expected_value": "explain(X).base_values",
    "explainer.explain(X.drop(columns='petal length'))": "needs the column 'petal length'",
    "explainer.explain(X.rename(columns=str.upper))": "it has the columns 'SEPAL LENGTH'",
    "explainer.explain(X.assign(extra=1))": "X.drop(columns=['extra'])",
    "explainer.explain(X, nsamples=10)": "pass max_rows=... to ShapleyExplainer",
    "explainer.explain(X, seed=3)": "pass random_state=3 to ShapleyExplainer",
    "explanation.shap_values": "use values",
    "explanation.expected_value": "use base_values",
    "explanation.base_value": "use base_values",
    "explanation.feature_importances_": "use importance()",
    "explanation.head()": "explanation[:5]",
    "explanation.columns": "use feature_names",
    "explanation.cohorts(2)": "comparison.find_cohorts(explanation)",
    "explanation.save()": "Explanation.save(path)",
    "explanation.save('values.csv')": "save to 'values.parquet'",
    "explanation.report(5)": "takes path as a str or path",
    "explainer.importance(X)": "explain(X).importance()",
    "explainer.shap_interaction_values(X)": "interactions=True",
    "explainer.save('e.pkl')": "joblib.dump(explainer, path)",
    "explanation.to_csv('values.csv')": "to_frame().to_csv(...)",
    "explanation.to_dict()": "to_frame().to_dict(...)",
    "explanation.to_pandas()": "use to_frame()",
    "explanation.waterfall(0)": "plot.waterfall(...)",
    "explanation['petal']": "choose one of ['sepal length'",
    "explanation.plot.waterfall()": "such as row=0",
    "explanation.plot.waterfall(100)": "plot.waterfall got row=100",
    "explanation.plot.waterfall(0, max_display=3)": "did you mean max_features=3",
    "explanation.plot.waterfall(0, 1, 2)": "plot.waterfall(row, output",
    "explanation.plot.bar(max_display=3)": "plot.bar takes no max_display",
    "explanation.plot.bar(show=False)": ".figure_.savefig(",
    "explanation.plot.beeswarm(max_display=3)": "did you mean max_features=3",
    "explanation.plot.dependence('petal')": "plot.dependence got features=['petal']",
    "explanation.plot.dependence(feature='petal length')": "features='petal length'",
    "explanation.plot.scatter('petal length')": "plot.dependence(",
    "explanation.plot.heatmap()": "plot.matrix()",
    "explanation.plot.summary()": "plot.beeswarm()",
    "explanation.plot.waterfal(0)": "use waterfall",
    "explanation.plot('bar')": "plot.waterfall(0)",
    "species.plot.waterfall(0, 'setosa')": "pass all but the first by name",
    "species.plot.waterfall(0, class_index=1)": "did you mean output=1",
    "species.plot.bar(output='setosa')": "choose None or one of [0, 1, 2]",
    "explainer(X[:3], y[:3])": "ShapleyExplainer.explain(X)",
    "explainer(X[:3], check_additivity=False)": "leave it out",
    "TreeExplainer(model, X)": "pass all but the first by name",
    "TreeExplainer(model).shap_values(X)": "use explain(X).values",
    "TreeExplainer(model, model_output='raw')": "did you mean response_method='log_odds'?",
    "GlobalImportance(model, seed=0)": "did you mean random_state=0",
    "GlobalImportance(model).fit(X).explain(X)": "explain(X, y, sample_weight): missing",
    "DataShapley(model).fit(X, y)": "fit(X, y, X_val, y_val): missing",
    "DataShapley(model, seed=0)": "did you mean random_state=0",
    "ShapleyImportance(model).fit(X)": "fit(X, y): missing",
    "shapley_values(sum, 3)": "pass all but the first by name",
    "shapley_values(sum, n_players=3, nsamples=100)": "did you mean max_evals=...",
    "explanation.display_data": "use data",
    "explanation.sample(10)": "use explanation[:100]",
    "explanation.sort_values()": "use to_frame().sort_values",
    "explanation.to_numpy()": "use values",
    "explanation.to_html('report.html')": "use report(",
    "explanation.plot.beeswarm().savefig('a.png')": "use .figure_.savefig(path)",
    "explanation.plot.beeswarm().show()": "use matplotlib.pyplot.show()",
    "explanation.plot.beeswarm().ax.set_title('a')": "use .ax_",
    "explanation.plot.beeswarm().fig": "use .figure_",
    "explanation.plot.bar().to_frame()": "use .frame()",
    "species.plot.beeswarm().savefig('a.png')": "SmallMultiples has no 'savefig': use .figure_",
    "skshapley.Explainer(model, X)": "ShapleyExplainer(model).fit(X_train)",
    "skshapley.load('phi.parquet')": "Explanation.load(path)",
    "skshapley.summary_plot(explanation)": "explanation.plot.beeswarm()",
    "skshapley.plots.bar(explanation)": "explanation.plot.bar(...)",
    "explanation.abs()": "write explanation.abs without parentheses",
    "explanation - explanation": "explanation.values - other.values",
    "-explanation": "use -explanation.values",
    "explanation + explanation": "skshapley.comparison.compare(explanation, other)",
    "skshapley.Explanation.from_shap(explanation.values)": "Explanation.from_shap(explainer(X))",
    "explanation.max(0)": "use values.max(axis=0)",
    "explanation.T": "use values.T",
    "explanation.iloc[0]": "use explanation[0]",
    "explanation.row(0)": "use explanation[0]",
    "explanation.describe()": "use to_frame().describe()",
    "explanation.summary()": "use print(explanation)",
    "explanation.conf_int()": "1.96 * standard_errors",
    "explanation.stderr": "use standard_errors",
    "explanation.p_values": "use importance()",
    "explanation.y_pred": "use predictions",
    "explanation.method": "use settings.method",
    "explanation.n_features": "use len(explanation.feature_names)",
    "explanation.frobnicate": "choose among abs, background_errors",
    "explanation.to_frame(long=True)": "choose among kind",
    "explanation.report('a.html', rows=5)": "did you mean max_rows=",
    "explanation.report('a.pdf')": "pass 'a.html'",
    "explanation[:, 'age']": "choose one of ['sepal length'",
    "explanation[100]": "Explanation has 15 rows",
    "species[:, :, 'setosa']": "choose one of [0, 1, 2]",
    "explanation.plot.waterfall(explanation[0])": "such as row=0",
    "explanation.plot.waterfall('0')": "such as row=0",
    "explanation.plot.group_difference()": "plot.bar(cohorts=",
    "explanation.plot.benchmark()": "choose among bar, beeswarm",
    "explanation.plot.beeswarm(color='red')": "choose among output, max_features, ax",
    "explanation.plot.beeswarm(figsize=(4, 4))": ".figure_.set_size_inches(",
    "explanation.plot.force(0)": "use plot.waterfall(0)",
    "explanation.plot.violin()": "use plot.beeswarm()",
    "ShapleyExplainer(model).fit(y, X)": "fit(X_train)",
    "ShapleyExplainer(model).fit(X['petal length'])": "fit(X_train)",
    "ShapleyExplainer(model, features=['petal length'])": "explanation[:, ['age']]",
    "ShapleyExplainer(model, tol=0.01)": "stopping=skshapley.stopping.StandardError(",
    "ShapleyExplainer(model, timeout=10)": "max_rows",
    "ShapleyExplainer(model, n_background=100)": "did you mean max_background=100",
    "ShapleyExplainer(model, n_iter=100)": "did you mean max_rows=",
    "ShapleyExplainer(model, parallel=True)": "pass n_jobs=-1",
    "ShapleyExplainer(model, device='cuda')": "leave it out",
    "ShapleyExplainer(model, classes=1)": "did you mean output=1",
    "ShapleyExplainer(model).fit(X).feature_importances_": "use explain(X).importance()",
    "ShapleyExplainer(model).fit(X).score(X, y)": "use estimator.score(X, y)",
    "explainer.explain(X.to_numpy().tolist())": "pandas.DataFrame(rows, columns=",
    "explainer.explain(X.astype(str))": "X.astype(background.dtypes)",
    "explainer.explain(X[:2], row=1)": "pass row=1 to explanation.plot.waterfall",
    "explainer.load('e.joblib')": "use joblib.load(path)",
    "ShapleyExplainer.load('e.joblib')": "use joblib.load(path)",
    "skshapley.Explanation.read_parquet('e.parquet')": "use Explanation.load(path)",
    "explainer.global_explanation(X)": "use explain(X).importance()",
    "explainer.frobnicate": "choose among",
    "clone(explainer).explain(X)": ".fit(X_train)",
    "clone(explainer).set_params(seed=0)": "random_state",
    "TreeExplainer(model)(X)": "TreeExplainer(model).fit(X_train)",
    "GlobalImportance(model).importances_": "use explain(X, y).values",
    "GlobalImportance(model).plot.bar()": "ImportanceDisplay.from_importance(explanation)",
    "DataShapley(model).frobnicate": "choose among",
    "explanation.settings.solvers": "use solver",
    "explanation.importance(ascending=False)": "choose among cohorts, confidence",
    "shapley_values(len, n_players=3)": "lambda coalitions: coalitions.sum(axis=1)",
    "skshapley.bounds_of": "choose among AmortizedExplainer",
    "skshapley.explain_batches(model)": "skshapley.batches.explain_batches(...)",
    "skshapley.waterfall(explanation)": "use explanation.plot.waterfall(0)",
}


MISTAKES = (AttributeError, KeyError, TypeError, ValueError, IndexError)


@pytest.fixture(scope="module")
def named():
    """The names that the calls are made of."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
    several = RandomForestClassifier(5, random_state=0).fit(X, y)
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, y == 2)
    explainer = ShapleyExplainer(model, max_rows=500, random_state=0).fit(X[::5])
    return {
        "clone": clone,
        "copy": copy,
        "GridSearchCV": GridSearchCV,
        "make_pipeline": make_pipeline,
        "np": np,
        "pd": pd,
        "pickle": pickle,
        "skshapley": skshapley,
        "DataShapley": DataShapley,
        "GlobalImportance": GlobalImportance,
        "ShapleyImportance": ShapleyImportance,
        "TreeExplainer": TreeExplainer,
        "shapley_values": shapley_values,
        "ShapleyExplainer": ShapleyExplainer,
        "RandomForestClassifier": RandomForestClassifier,
        "X": X,
        "y": y,
        "model": model,
        "several": several,
        "explainer": explainer,
        "explanation": explainer.explain(X[::10]),
        "species": ShapleyExplainer(several).fit(X[::5]).explain(X[::10]),
    }


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Files are written where no one looks; pictures are closed."""
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


@pytest.mark.parametrize("call", WORKS)
def test_a_first_call_works(call, named):
    eval(call, named)


@pytest.mark.parametrize(("call", "right"), ANSWERED.items(), ids=ANSWERED)
def test_mistaken_calls_are_answered_with_the_right_call(call, right, named):
    with pytest.raises(MISTAKES) as caught:
        eval(call, named)
    assert right in str(caught.value)


@pytest.mark.parametrize(
    "call", ["explanation.frobnicate", "species.plot.bar().frobnicate"]
)
def test_an_unknown_attribute_names_each_attribute_once(call, named):
    with pytest.raises(AttributeError) as caught:
        eval(call, named)
    names = str(caught.value).partition("choose among ")[2].rstrip(".").split(", ")
    assert len(names) > 3
    assert len(set(names)) == len(names)


def test_a_report_without_a_path_prints_its_location(named, capsys, tmp_path):
    named["explanation"].report()
    assert str(tmp_path / "report.html") in capsys.readouterr().out
    assert (
        (tmp_path / "report.html")
        .read_text(encoding="utf-8")
        .startswith("<!DOCTYPE html>")
    )


def test_a_background_given_first_gives_the_same_values(named):
    X, model = named["X"], named["model"]
    early = ShapleyExplainer(model, X, random_state=0)
    values = ShapleyExplainer(model, random_state=0).fit(X).explain(X[:3]).values
    assert (early(X[:3]).values == values).all()
    assert clone(early).get_params()["background"].equals(X)
    assert not hasattr(clone(early), "reward_")


@pytest.mark.parametrize("name", ["waterfall", "bar", "dependence", "beeswarm"])
def test_help_and_completion_know_the_parameters(name, named):
    method = getattr(named["explanation"].plot, name)
    parameters = inspect.signature(method).parameters
    assert "output" in parameters
    assert "explanation" not in parameters
    assert method.__name__ == name
    assert "explanation :" not in method.__doc__
    assert "output : label" in method.__doc__


def test_a_model_fitted_on_arrays_needs_no_names(named):
    X = named["X"].to_numpy()
    made = ShapleyExplainer(lambda X: X @ [1.0, 2.0, 0.0, 0.0], X)(
        pd.DataFrame(X).to_numpy()[:2]
    )
    assert made.values.shape == (2, 4)


def test_enumeration_is_reported_as_exact(named):
    """Another response would be exact without the model."""
    text = repr(named["explanation"])
    assert "exact, by all coalitions" in text
    assert "would be exact" not in text


def test_a_single_row_may_be_one_dimensional(named):
    X, explainer = named["X"], named["explainer"]
    with pytest.warns(UserWarning, match="valid feature names"):
        made = explainer(X.to_numpy()[3])
    assert (made.values == explainer(X[3:4]).values).all()

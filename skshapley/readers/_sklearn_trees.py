"""scikit-learn's trees and forests, read from the public ``tree_`` of each estimator.

They cast their input to float32 and go left where ``x <= threshold``, in float64.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from skshapley._tables import in_model_columns
from skshapley._trees._ensemble import TreeEnsemble, assemble
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import TreeReader
from skshapley.responses import mean_depth


def read_forest(model) -> TreeEnsemble:
    """Return the mean or the class probabilities of a tree or a forest as a `TreeEnsemble`.

    Parameters
    ----------
    model : DecisionTree*, ExtraTree*, RandomForest* or ExtraTrees* of scikit-learn

    Returns
    -------
    trees : TreeEnsemble
        With one output for each target, or for each class.

    Raises
    ------
    UnreadableModelError
        For a classifier of several targets.
    """
    estimators = getattr(model, "estimators_", [model])
    classify = is_classifier(model)
    if classify and model.n_outputs_ > 1:
        raise UnreadableModelError(
            f"{type(model).__name__} was fitted on {model.n_outputs_} targets and "
            "returns a list of probabilities",
            "fit one classifier per target",
        )
    # `tree_.value` has the axes node, target, class; classifiers have one target here.
    outputs = np.s_[:, 0, :] if classify else np.s_[:, :, 0]
    trees = [
        read_tree(member.tree_, member.tree_.value[outputs] / len(estimators))
        for member in estimators
    ]
    n_outputs = trees[0]["value"].shape[1]
    method = "predict_proba" if classify else "predict"
    return of_estimator(
        model,
        trees,
        n_outputs,
        methods=(method,),
        raw_response=getattr(model, method),
    )


def read_gradient_boosting(model) -> TreeEnsemble:
    """Return the raw prediction of GradientBoosting as a `TreeEnsemble`.

    Parameters
    ----------
    model : GradientBoostingClassifier or GradientBoostingRegressor

    Returns
    -------
    trees : TreeEnsemble
        With one output, or one for each class where there are three or more.

    Raises
    ------
    UnreadableModelError
        If the initial prediction depends on the row.
    """
    if model.init_ != "zero" and not type(model.init_).__name__.startswith("Dummy"):
        raise UnreadableModelError(
            f"{type(model).__name__}(init={model.init!r}) starts from a model that is "
            "not a tree",
            "choose init=None or 'zero', or explain it by sampling",
        )
    n_outputs = model.estimators_.shape[1]
    trees = [
        read_tree(stage.tree_, stage.tree_.value[:, 0, 0] * model.learning_rate)
        | {"output": k}
        for stages in model.estimators_
        for k, stage in enumerate(stages)
    ]
    method = "decision_function" if is_classifier(model) else "predict"
    # With the exponential loss, log-odds are twice the sum; with several classes, they
    # are no sum.
    logistic = is_classifier(model) and model.loss == "log_loss" and n_outputs == 1
    return of_estimator(
        model,
        trees,
        n_outputs,
        base=_initial_prediction(model, getattr(model, method)),
        methods=(method, "log_odds") if logistic else (method,),
        raw_response=getattr(model, method),
    )


def read_ada_boost(model) -> TreeEnsemble:
    """Return the decision value of AdaBoost over trees as a `TreeEnsemble`.

    Each tree votes with its weight for the class that it predicts, and with an equal
    share of the weight against the others.

    Parameters
    ----------
    model : AdaBoostClassifier

    Returns
    -------
    trees : TreeEnsemble
        With one output of two classes, else one for each class.

    Raises
    ------
    UnreadableModelError
        If the boosted estimators are not trees.
    """
    first = model.estimators_[0]
    if not hasattr(first, "tree_"):
        raise UnreadableModelError(
            f"{type(model).__name__} boosts {type(first).__name__}, which is not a tree",
            "boost trees, or explain it by sampling",
        )
    k = model.n_classes_
    shares = model.estimator_weights_ / model.estimator_weights_.sum()
    trees = []
    for estimator, share in zip(model.estimators_, shares, strict=False):
        # A tree of the ensemble may lack classes, so its labels are placed among those
        # of the ensemble.
        winners = estimator.tree_.value[:, 0, :].argmax(axis=1)
        labels = np.searchsorted(model.classes_, estimator.classes_)[winners]
        votes = np.where(labels[:, None] == np.arange(k), share, -share / (k - 1))
        value = votes[:, 1:] - votes[:, :1] if k == 2 else votes
        trees.append(read_tree(estimator.tree_, value))
    return of_estimator(
        model,
        trees,
        1 if k == 2 else k,
        methods=("decision_function", "log_odds") if k == 2 else ("decision_function",),
        raw_response=model.decision_function,
    )


def read_isolation_forest(model) -> TreeEnsemble:
    """Return the mean depth of an isolation forest as a `TreeEnsemble`.

    The depth of a leaf includes the expected depth of a further tree that isolates its
    samples. The mean is relative to the expected depth of a tree of all samples per
    tree.

    Parameters
    ----------
    model : IsolationForest

    Returns
    -------
    trees : TreeEnsemble
    """
    whole = len(model.estimators_) * _usual_depth(np.array([model.max_samples_]))[0]
    trees = []
    for estimator, columns in zip(
        model.estimators_,
        model.estimators_features_,
        strict=True,
    ):
        tree = estimator.tree_
        depth = tree.compute_node_depths() - 1 + _usual_depth(tree.n_node_samples)
        feature = np.where(tree.feature < 0, -1, columns[tree.feature])
        trees.append(read_tree(tree, depth / whole) | {"feature": feature})
    return of_estimator(
        model,
        trees,
        1,
        methods=("mean_depth",),
        raw_response=partial(mean_depth, model),
    )


def _usual_depth(n) -> np.ndarray:
    """Return the mean depth of an unsuccessful search in a tree of n samples (Liu et al. 2008)."""
    n = np.asarray(n, dtype=np.float64)
    # The formula is only for n > 2; this keeps the logarithm finite where the result is
    # not used.
    many = np.maximum(n, 3.0)
    depth = 2 * (np.log(many - 1) + np.euler_gamma) - 2 * (many - 1) / many
    return np.select([n <= 1, n == 2], [0.0, 1.0], depth)


def _initial_prediction(model, response) -> np.ndarray:
    """Return the initial constant of boosting: the response at any row, minus the trees."""
    # Any row serves, since the difference is constant. float32 zeros compare like the
    # trees' own input.
    origin = np.zeros((1, model.n_features_in_), dtype=np.float32)
    base = response(in_model_columns(model, origin)).ravel()
    for stages in model.estimators_:
        base = base - [
            model.learning_rate * s.tree_.predict(origin)[0, 0] for s in stages
        ]
    return base


def of_estimator(model, trees, n_outputs, **how) -> TreeEnsemble:
    """Return the trees of a fitted estimator, which round their input to float32.

    Parameters
    ----------
    model : estimator
    trees : list of dict
        As `assemble` takes them.
    n_outputs : int
    **how
        Other arguments of `assemble`.
    """
    fields = {
        "base": np.zeros(n_outputs),
        "n_features": model.n_features_in_,
        "strict": False,
        "single_precision": True,
    }
    return assemble(trees, n_outputs=n_outputs, **(fields | how))


def read_tree(tree, value) -> dict[str, Any]:
    """Return a tree for `assemble`, with given values at its nodes."""
    return {
        "left": tree.children_left,
        "right": tree.children_right,
        "feature": tree.feature,
        "threshold": tree.threshold,
        "missing_left": tree.missing_go_to_left,
        "value": value,
        "cover": tree.weighted_n_node_samples,
    }


def split_columns(model) -> np.ndarray:
    """Return the column of each split of a tree or a forest; other nodes are negative."""
    members = getattr(model, "estimators_", [model])
    return np.concatenate([member.tree_.feature for member in members])


READERS: dict[str, TreeReader] = {
    **{
        f"{name}{kind}": TreeReader(read_forest, splits=split_columns)
        for name in ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees")
        for kind in ("Regressor", "Classifier")
    },
    "GradientBoostingRegressor": TreeReader(read_gradient_boosting),
    "GradientBoostingClassifier": TreeReader(read_gradient_boosting),
    "AdaBoostClassifier": TreeReader(read_ada_boost),
    "IsolationForest": TreeReader(read_isolation_forest),
}

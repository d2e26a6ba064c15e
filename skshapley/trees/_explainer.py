"""TreeExplainer: exact attributions of tree ensembles, the scikit-learn way."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._ensembles import INDICES, RESPONSES, read_trees
from skshapley._estimators._attributor import Attributor
from skshapley._tables._inputs import (
    check_columns,
    check_frame,
    checked_weights,
    column_names,
    is_frame,
    validated,
)
from skshapley.explanation import Explanation
from skshapley.rewards import Players
from skshapley.trees._exact import ExactTrees

PERTURBATIONS = ("interventional", "path_dependent")


class TreeExplainer(Attributor):
    """Explain a tree ensemble by exact Shapley values, with any background at the same cost.

    Parameters
    ----------
    estimator : fitted tree model
        XGBoost's and LightGBM's estimators and boosters, and scikit-learn's HistGradientBoosting,
        GradientBoosting, RandomForest, ExtraTrees and single trees. It is never fitted here.
    response_method : str, default="auto"
        "auto", "predict", "predict_proba", "decision_function" or "log_odds". "auto": what the
        trees add up to, that is the margin of a boosted model (log-odds, for a classifier), and the
        mean or the class probabilities of a forest. The others are refused where they are a
        function of that sum, as the probabilities of a boosted model.
    output : None or label, default=None
        None: the positive class of two, else all outputs at once. A class label or the position of
        an output: that one.
    groups : dict, default=None
        ``{"name": [columns, ...]}``: each group is one player, the other columns are their own.
    feature_perturbation : {"interventional", "path_dependent"}, default="interventional"
        What stands in for absent features: rows of the background, or, without any background, the
        training data in the proportions in which it went down the trees.
    index : {"shapley", "banzhaf"}, default="shapley"
        Banzhaf values do not sum to the prediction.
    n_jobs : int, default=None
        Threads, through joblib. The result is the same for any number.

    Attributes
    ----------
    exact_ : ExactTrees
        The trees and their tables.
    players_ : Players
    background_ : array or frame, or None
    background_weights_ : ndarray of shape (b,), or None
        With sum 1.
    output_names_ : list or None
        Labels of the explained outputs; None for a single one.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only for frames.

    Notes
    -----
    A leaf with k distinct players on its path is a game of k bits of the instance and k bits of a
    reference. The background's bit patterns are counted once and folded into a table over the
    instance's patterns, so that explaining is a look-up, and its cost does not know the size of the
    background. The values of the interventional game are those of Lundberg et al. (2020) [1]_,
    Algorithm 3; the path-dependent ones those of their Algorithm 1. Absent features follow the
    tables for subtrees of few players; leaves with many players on their path compare the patterns
    of instances and background directly.

    References
    ----------
    .. [1] S. Lundberg et al., "From local explanations to global understanding with explainable AI
       for trees", Nature Machine Intelligence 2, 2020.
    .. [2] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
    .. [3] M. Grabisch and M. Roubens, "An axiomatic approach to the concept of interaction among
       players in cooperative games", International Journal of Game Theory 28, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skshapley.trees import TreeExplainer
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> explanation = TreeExplainer(model).fit(X).explain(X[:2])
    >>> explanation.to_frame()[["bmi", "s5"]].round(2)
         bmi     s5
    0  20.99  15.30
    1 -21.11 -31.26
    >>> total = explanation.base_values + explanation.values.sum(axis=1)
    >>> bool(abs(total - model.predict(X[:2])).max() < 1e-9)
    True
    """

    def __init__(
        self,
        estimator,
        *,
        response_method="auto",
        output=None,
        groups=None,
        feature_perturbation="interventional",
        index="shapley",
        n_jobs=None,
    ):
        self.estimator = estimator
        self.response_method = response_method
        self.output = output
        self.groups = groups
        self.feature_perturbation = feature_perturbation
        self.index = index
        self.n_jobs = n_jobs

    def fit(self, X=None, y=None, sample_weight=None):
        """Take the background.

        Parameters
        ----------
        X : array or frame of shape (b, d), or None
            The background rows, in the container and with the columns that the model was fitted on;
            any number of them. None only where absent features follow the training data.
        y : ignored
        sample_weight : array of shape (b,), optional
            Weights of the background rows.

        Returns
        -------
        self

        Raises
        ------
        UnreadableModelError
            If the model, or the response, is not a sum over trees that can be read.
        NotFittedError
            If the model is not fitted.
        ValueError
            For wrong parameters, an empty background or wrong weights.
        """
        name = type(self).__name__
        self._check_parameters(name)
        if X is None and self.feature_perturbation == "interventional":
            raise ValueError(
                f'{name}(feature_perturbation="interventional") needs background rows in fit; got '
                'None. Pass some, or choose "path_dependent".'
            )
        trees = self._read_output(name)
        model_names = getattr(self.estimator, "feature_names_in_", None)
        weights = None
        if X is None:
            self.background_ = None
            self.n_features_in_ = trees.n_features
            columns = [f"x{i}" for i in range(trees.n_features)]
            if model_names is not None:
                self.feature_names_in_ = model_names
                columns = list(model_names)
        else:
            self.background_ = self._checked(X, reset=True)
            columns = column_names(self.background_)
            weights = checked_weights(sample_weight, len(X), name)
        self.background_weights_ = weights
        self.players_ = Players.from_groups(self.groups, columns, name)
        self.exact_ = ExactTrees(
            trees, self.players_.column_player, self.index, self.n_jobs, model_names
        )
        if self.feature_perturbation == "path_dependent":
            self.exact_.fit_path_dependent()
        else:
            self.exact_.fit(self.background_, self.background_weights_)
        return self

    def explain(self, X) -> Explanation:
        """Explain the response for the rows of X.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns in its order.

        Returns
        -------
        explanation : Explanation
            Exact: its standard errors are zero, and the model is not called.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers.
        """
        check_is_fitted(self, "exact_")
        X = self._checked(X, reset=False)
        settings = {
            "model": repr(self.estimator),
            "response_method": self.response_method,
            "output": self.output,
            "reward": self.feature_perturbation,
            "sampler": "none: exact, by tables of the trees",
            "solver": self.index,
            "n_background": None if self.background_ is None else len(self.background_),
        }
        return self._recorded(self.exact_.explain(X), X, settings)

    def interactions(self, X):
        """Split the attributions of X into main effects and interactions of pairs.

        Each entry off the diagonal is half the interaction index of the pair (Grabisch & Roubens
        1999), since both players have a share in it; the diagonal is what is left of the
        player's attribution, its main effect. So the rows sum to the attributions, as in shap.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns in its order.

        Returns
        -------
        interactions : ndarray of shape (r, p, p), or (r, p, p, k) for k outputs
            Symmetric in the players, and exact up to rounding.

        Raises
        ------
        ValueError
            With ``feature_perturbation="path_dependent"``.
        ValueError, TypeError
            For other columns, dtypes or containers.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> from skshapley.trees import TreeExplainer
        >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
        >>> model = DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1])
        >>> TreeExplainer(model).fit(X[:1]).interactions(X[3:])
        array([[[0. , 0.5],
                [0.5, 0. ]]])
        """
        check_is_fitted(self, "exact_")
        if self.background_ is None or self.feature_perturbation == "path_dependent":
            raise ValueError(
                f"{type(self).__name__}.interactions got "
                f"feature_perturbation={self.feature_perturbation!r}; choose "
                '"interventional" and fit on background rows.'
            )
        interactions = self.exact_.interactions(self._checked(X, reset=False))
        return interactions[..., 0] if self.output_names_ is None else interactions

    @property
    def _output_names(self):
        return self.output_names_

    def _check_parameters(self, name):
        for parameter, choices in (
            ("response_method", ("auto", *RESPONSES[1:])),
            ("feature_perturbation", PERTURBATIONS),
            ("index", INDICES),
        ):
            value = getattr(self, parameter)
            if value not in choices:
                raise ValueError(f"{name} got {parameter}={value!r}; choose one of {choices}.")

    def _read_output(self, name):
        """The trees of the outputs to explain; their labels go into ``output_names_``."""
        method = "raw" if self.response_method == "auto" else self.response_method
        trees = read_trees(self.estimator, method)
        labels = np.asarray(getattr(self.estimator, "classes_", [])).tolist()
        binary = len(labels) == 2
        if len(labels) not in (2, trees.n_outputs):
            labels = list(range(trees.n_outputs))
        self.output_names_ = None
        if self.output is None and not binary and trees.n_outputs > 1:
            self.output_names_ = labels
            return trees
        position = len(labels) - 1 if self.output is None else self._position(labels, name)
        if trees.n_outputs == 1:
            return trees.take_output(0, sign=-1 if binary and position == 0 else 1)
        return trees.take_output(position)

    def _position(self, labels, name):
        if self.output not in labels:
            raise ValueError(
                f"{name} got output={self.output!r}, which the response does not have; choose None "
                f"or one of {labels}."
            )
        return labels.index(self.output)

    def _checked(self, X, reset):
        """X checked, in its own container."""
        name = type(self).__name__
        if is_frame(X):
            check_frame(X, name)
        X = validated(self, X, reset)
        return X if reset or self.background_ is None else check_columns(X, self.background_, name)

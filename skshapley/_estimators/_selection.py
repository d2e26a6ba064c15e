"""Feature selection by out-of-fold Shapley values: gains and tests.

The gain of feature j at a row with target y, response f and attribution phi_j is

    phi_j (y - (f - phi_j)),

the attribution times the part of the target that all other attributions leave
unexplained. Its mean is the mean of phi_j^2 + phi_j (y - f): the mean squared
attribution if the model is right, and less if it overfitted. For a column that is
independent of the target and of all other columns, the mean is zero or below for any
model: E phi_j is then 0 given the others, and interactions are shared equally, so E
phi_j phi_k is not below 0. For attributions of log-odds, f - phi_j is first transformed
to a probability.

If useless columns are correlated with each other, a linear model gives them coefficients
of opposite signs, and their gains are positive on average. Their common gain, with the
sum of their attributions for phi_j, is not: the sums of all attributions that are
correlated with each other are again independent of the others. A feature therefore needs
two gains, its own and that of all features with correlated attributions.
"""

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from skshapley._estimators._attributor import COUNTS
from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._estimators._global import GlobalImportance
from skshapley._inference._means import Means, adjusted, p_values
from skshapley._tables import column_names, take_rows
from skshapley._tools import (
    Number,
    check_parameters,
    corrected,
    counted,
    entropy_from,
    resolve,
)
from skshapley._ways._base import checked_table
from skshapley.closed_forms import Logistic
from skshapley.explanation import Explanation
from skshapley.rewards import REWARDS, Reward

CLOSE = 1e-4  # tolerance for probabilities in single precision
# Correlations beyond so many standard errors count; by chance, 1 of 16,000 pairs has one.
# Weaker ones than the second number do not matter, and link all columns of many rows.
CORRELATED = 4.0
LEAST_CORRELATION = 0.1

Link = Callable[[np.ndarray], np.ndarray]


def explained_rows(explainer: ShapleyExplainer, X: Any) -> tuple[Explanation, Link]:
    """Return the explanation of rows, and the function from response to expected target.

    A classifier with exact log-odds is explained by its log-odds.

    Parameters
    ----------
    explainer : ShapleyExplainer
        Fitted.
    X : array or frame of shape (r, d)
    """
    # Exact log-odds have no sampling error, and the link leads from them to
    # probabilities.
    logistic = isinstance(explainer.exact_, Logistic)
    exact = "log_odds" if logistic else explainer._way.labels.settings.exact_response
    # Gains of regressors are in squared units of the target, not of its logarithm.
    if exact is not None and is_classifier(explainer.estimator):
        explanation = (
            ShapleyExplainer(
                **{**explainer.get_params(deep=False), "response_method": exact}
            )
            .fit(explainer.background_)
            .explain(X)
        )
        link: Link = (
            expit if explanation.values.ndim == 2 else partial(softmax, axis=-1)
        )
        probabilities = explainer.estimator.predict_proba(X)
        if explanation.values.ndim == 2:
            probabilities = probabilities[:, 1]
        # The link must reproduce the model's probabilities; otherwise the gains would
        # be of another model.
        if np.allclose(
            link(explanation.predictions),
            probabilities,
            rtol=0,
            atol=CLOSE,
        ):
            return explanation, link
    return explainer.explain(X), _same


def gains(
    explanation: Explanation,
    link: Link,
    targets: np.ndarray,
    groups: np.ndarray,
) -> np.ndarray:
    """Return the gain of the group of each player at each row, summed over outputs.

    Parameters
    ----------
    explanation : Explanation
    link : callable
        From the explained response to the expected target.
    targets : ndarray of shape (r,) or (r, k)
        Numbers, or 1 for the class of the row.
    groups : ndarray of shape (p, p), bool
        The players in the group of each player.

    Returns
    -------
    gains : ndarray of shape (r, p)
    """

    def sums(parts: np.ndarray) -> np.ndarray:
        # optimize=True: a matrix product, 8 to 47 times as fast for 500 players
        return np.einsum("jg,rg...->rj...", groups, parts, optimize=True)

    values = sums(explanation.values)
    errors = explanation.standard_errors
    # The prediction without the group's contribution, on the scale of the response.
    gain = values * (targets[:, None] - link(explanation.predictions[:, None] - values))
    if link is _same and errors is not None:
        # the contribution of noise to a square
        gain = gain - sums(np.nan_to_num(errors) ** 2)
    return gain if gain.ndim == 2 else gain.sum(axis=2)


def correlated_players(values: np.ndarray) -> np.ndarray:
    """Return the groups of players with correlated attributions, ``(p, p)`` bool.

    Parameters
    ----------
    values : ndarray of shape (r, p) or (r, p, k)
    """
    rows, p = values.shape[:2]
    with np.errstate(invalid="ignore"):  # constant attributions have no correlation
        correlations = np.corrcoef(np.moveaxis(values, 1, 0).reshape(p, -1))
    least = max(CORRELATED / np.sqrt(rows), LEAST_CORRELATION)
    linked = np.abs(np.atleast_2d(correlations)) > least
    labels = connected_components(linked)[1]
    return labels[:, None] == labels


def _same(response: np.ndarray) -> np.ndarray:
    return response


def _has(name: str) -> Any:
    return available_if(lambda self: hasattr(self.estimator, name))


class ShapleyImportance(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Feature importances from attributions of held-out rows, and a selection by tests.

    In each fold, the model is fitted to the other rows, and the rows of the fold are
    explained. The importance of a feature is its mean gain: the attribution times the
    part of the target that the other attributions leave unexplained. If the model is
    right, this is the mean squared attribution. For a feature unrelated to the target
    and to other features it is zero, up to chance, even if the model overfitted it.

    Parameters
    ----------
    estimator : estimator
        A regressor, or a classifier with ``predict_proba``. It is cloned, and fitted in
        each fold.
    cv : int, cross-validation generator or iterable, default=5
        The folds, as in scikit-learn. A row may be in one fold at most.
    alpha : float, default=0.05
        Upper bound of the average share of false features among those selected
        (Benjamini & Yekutieli 2001).
    reward : str or Reward, default="interventional"
        As in `ShapleyExplainer`. "refit": the model is refitted to each set of columns.
        Gains are then attributions of minus the loss of held-out rows, as in
        `GlobalImportance`, and so is `explanation_`. They are not positive on average
        for a feature unrelated to the target, because refits without it are better.
    max_rows : int or "auto", default="auto"
        As in `ShapleyExplainer`, for models without a closed form. Trees and linear
        models have one; classifiers are explained by their log-odds.
    n_jobs : int, default=None
        Workers of the explainer, through joblib.
    random_state : None, int, Generator or RandomState, default=None

    Attributes
    ----------
    feature_importances_ : ndarray of shape (d,)
        Mean gains, in squared units of the target (log-odds times probability if a
        classifier is explained by its log-odds). Negative means are replaced by 0.
    p_values_ : ndarray of shape (d,)
        Under the null hypothesis that neither the feature nor any feature with
        correlated attributions has information about the target.
    explanation_ : Explanation
        The attributions of the held-out rows, in the order of X.
    estimator_ : estimator
        Fitted to all rows and columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only if X has names.

    See Also
    --------
    GlobalImportance : SAGE values of one fitted model.

    Notes
    -----
    The tests are Student's, over the held-out rows, and one-sided. The p-value is the
    larger one of two: that of the feature's gain, and that of the common gain of all
    features whose attributions are correlated with it, directly or through others.
    Correlations of at least .1 and four standard errors count.
    Without the second, unpenalised models select correlated noise, since its
    attributions cancel each other. Two correlated features share their information:
    both may be selected, or neither. Selected features carry information about the
    target for this kind of model; they are not causes.

    References
    ----------
    Benjamini & Yekutieli (2001), The control of the false discovery rate in multiple
    testing under dependency, Annals of Statistics 29.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import ShapleyImportance
    >>> X, y = make_regression(200, 6, n_informative=2, noise=10.0, random_state=0)
    >>> selector = ShapleyImportance(LinearRegression()).fit(X, y)
    >>> selector.feature_importances_.round()
    array([  1.,   0.,  44.,   0.,   0., 564.])
    >>> selector.get_support(indices=True)
    array([2, 5])
    """

    _constraints = {
        "alpha": Number(above=0, below=1),
        "n_jobs": COUNTS["n_jobs"],
    }

    @corrected
    def __init__(
        self,
        estimator,
        *,
        cv=5,
        alpha: float = 0.05,
        reward: str | Reward = "interventional",
        max_rows: int | str = "auto",
        n_jobs: int | None = None,
        random_state=None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.alpha = alpha
        self.reward = reward
        self.max_rows = max_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    @corrected
    def fit(self, X, y) -> Self:
        """Explain each fold with a model fitted on the others, and test the gains of the features.

        Parameters
        ----------
        X : array or frame of shape (n, d)
        y : array of shape (n,)
            Class labels, or numbers.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For wrong parameters or tables, folds that contain a row twice, or training
            folds that lack a class.
        """
        owner = type(self).__name__
        check_parameters(self, self._constraints)
        X = checked_table(self, X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        entropy = entropy_from(self.random_state, owner)
        folds: list = list(
            check_cv(self.cv, y, classifier=is_classifier(self.estimator)).split(X, y)
        )
        rows = np.concatenate([test for _, test in folds])
        if len(np.unique(rows)) < len(rows):
            raise ValueError(
                f"{owner} got cv with folds that share rows, so that errors over rows "
                "would be too small: choose folds that do not, such as KFold."
            )
        if is_classifier(self.estimator):
            check_classification_targets(y)
            # Their models would lack some outputs.
            classes, counts = np.unique(y, return_counts=True)
            for train, _ in folds:
                missing = ~np.isin(classes, y[train])
                if missing.any():
                    rare = classes.tolist()[missing.argmax()]
                    n = counts[missing.argmax()]
                    raise ValueError(
                        f"{owner} got cv with a fold without the class {rare!r} in "
                        f"its training rows; the class has {counted(n, 'row')}. Leave "
                        "out classes with one row, and choose folds that contain all "
                        "classes, such as StratifiedKFold."
                    )
        of_folds = [
            self._explained(X, y, train, test, entropy) for train, test in folds
        ]
        # Folds come in any order; the explanation follows the table.
        by_row = np.argsort(rows, kind="stable")
        self.explanation_ = Explanation.merge([part for part, _ in of_folds])[by_row]
        self._names = column_names(X)
        weights = np.full(len(rows), 1 / len(rows))
        alone = np.eye(len(self._names), dtype=bool)
        self._means, common = (
            Means.of(np.concatenate([gain(groups) for _, gain in of_folds]), weights)
            for groups in (alone, correlated_players(self.explanation_.values))
        )
        self.p_values_ = np.maximum(p_values(self._means), p_values(common))
        self.feature_importances_ = np.maximum(self._means.values, 0.0)
        # All rows for the final model; importances come from the folds.
        self.estimator_ = clone(self.estimator).fit(X, y)
        return self

    def _explained(
        self,
        X: Any,
        y: np.ndarray,
        train: np.ndarray,
        test: np.ndarray,
        entropy: int,
    ) -> tuple[Explanation, Callable[[np.ndarray], np.ndarray]]:
        """Return the explanation of a fold's rows, and a function from groups to gains."""
        training_rows = take_rows(X, train)
        held_out = take_rows(X, test)
        model = clone(self.estimator).fit(training_rows, y[train])
        reward = resolve(self.reward, REWARDS, Reward, type(self).__name__, "reward")
        options: dict[str, Any] = {
            "reward": reward,
            "max_rows": self.max_rows,
            "n_jobs": self.n_jobs,
            "random_state": entropy,
        }
        if reward.joint:
            importance = GlobalImportance(model, **options)
            importance.fit(training_rows, y[train])
            losses = importance.explain(held_out, y[test]).rows
            return losses, lambda _: losses.values
        explainer = ShapleyExplainer(model, **options).fit(training_rows)
        explanation, link = explained_rows(explainer, held_out)
        targets = y[test]
        if is_classifier(model):
            targets = targets[:, None] == model.classes_
            targets = targets[:, 1] if explanation.output_names is None else targets
        return explanation, partial(
            gains,
            explanation,
            link,
            targets.astype(np.float64),
        )

    def to_frame(self) -> pd.DataFrame:
        """Return importances, tests and the selection, the most important feature first.

        Returns
        -------
        importance : DataFrame
            Index: feature. Columns ``importance`` (the mean gain, which may be
            negative), ``standard_error``, ``p_value``, ``p_adjusted`` (by Benjamini &
            Yekutieli), ``selected``.
        """
        check_is_fitted(self)
        columns = {
            "importance": self._means.values,
            "standard_error": self._means.errors,
            "p_value": self.p_values_,
            "p_adjusted": adjusted(self.p_values_),
            "selected": self._get_support_mask(),
        }
        return pd.DataFrame(
            columns,
            index=pd.Index(self._names, name="feature"),
        ).sort_values("importance", ascending=False, kind="stable")

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return adjusted(self.p_values_) <= self.alpha

    @_has("predict")
    def predict(self, X) -> np.ndarray:
        """Return the predictions of `estimator_`, fitted to all rows, for cross-validated scores.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        """
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @_has("predict_proba")
    def predict_proba(self, X) -> np.ndarray:
        """Return the probabilities of `estimator_`.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @_has("score")
    def score(self, X, y) -> float:
        """Return the score of `estimator_`.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        y : array of shape (r,)
        """
        check_is_fitted(self)
        return self.estimator_.score(X, y)

    classes_ = property(
        attrgetter("estimator_.classes_"),
        doc="Class labels of a classifier.",
    )

    def __sklearn_tags__(self) -> Tags:
        selector_tags = super().__sklearn_tags__()
        tags = get_tags(self.estimator)
        tags.transformer_tags = selector_tags.transformer_tags
        tags.target_tags = selector_tags.target_tags
        tags.target_tags.required = True
        return tags

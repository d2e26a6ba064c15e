"""Exact values for tree ensembles."""

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import COUNTS, NOT_FITTED, Attributor
from skshapley._tables import model_columns, take_rows
from skshapley._tools import Constraint, OneOf, check_parameters, corrected
from skshapley._trees import TreeEnsemble
from skshapley._ways._base import Background, Way
from skshapley._ways._forms import Exact
from skshapley._ways._read import check_form
from skshapley.closed_forms import Trees
from skshapley.explanation import Explanation
from skshapley.indices import pair_index, player_index
from skshapley.readers._registry import read_trees

__all__ = ["TreeEnsemble", "read_trees"]

PERTURBATIONS = ("interventional", "path_dependent")
# Background rows on which the trees are compared with the model
CHECKED_ROWS = 32


class TreeExplainer(Attributor):
    """Explain a tree ensemble by exact Shapley values, without sampling.

    The values are computed from the trees themselves. Unless the trees are very deep,
    the cost per explained row does not depend on the size of the background.

    Parameters
    ----------
    estimator : fitted tree model
        An estimator or a booster of XGBoost or LightGBM, or a HistGradientBoosting,
        GradientBoosting, RandomForest, ExtraTrees or single tree of scikit-learn. It is
        never fitted here.
    response_method : str, default="auto"
        "auto", "predict", "predict_proba", "decision_function", "log_odds" or "log".
        "auto" is the sum over the trees: the margin of a boosted model (log-odds, for a
        classifier; the logarithm of the prediction, for counts), the mean or the class
        probabilities of a forest. The other responses are accepted where they are equal
        to that sum; the probabilities of a boosted model, say, are not.
    output : None or label, default=None
        Which output to explain, as a class label or the position of the output. None:
        the positive class of two, else all outputs at once.
    groups : dict, default=None
        ``{"name": [columns, ...]}``: each group is one player. Every other column is a
        player of its own. A dict of such groups in place of the columns makes nested
        groups, as in `ShapleyExplainer`.
    feature_perturbation : {"interventional", "path_dependent"}, default="interventional"
        The replacement of absent features. "interventional": background rows.
        "path_dependent": the training data, in their proportions at the nodes; no
        background is needed.
    index : str or Index, default="shapley"
        The kind of values: "shapley", "banzhaf", or an index such as
        `skshapley.indices.beta(16, 1)`. Only Shapley values always sum to the
        prediction.
    interactions : bool or str, default=False
        Also compute the exact interactions of all pairs of players. True: the Shapley
        interaction index. A str: a name of `skshapley.indices.PAIR_INDICES`.
    n_jobs : int, default=None
        Number of threads, through joblib. The result is the same for any number.

    Attributes
    ----------
    exact_ : Trees
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
    A leaf with k distinct players on its path is a game of k bits of the row to explain
    and k bits of a background row. `fit` counts the background's bit patterns once and
    folds the counts into a table over the patterns of a row to explain. Each
    explanation is a table lookup. Its cost does not depend on the size of the
    background. In trees that are too deep for tables, each row descends together with
    each background row. `fit` chooses by the sizes of trees and background. Calls with
    many rows may make tables of their own. Both methods agree to rounding. Lundberg et
    al. (2020) [1]_ define the interventional values by Algorithm 3, and the
    path-dependent values by Algorithm 1.

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

    _constraints: ClassVar[dict[str, Constraint]] = {
        "feature_perturbation": OneOf(PERTURBATIONS),
        "n_jobs": COUNTS["n_jobs"],
    }

    @corrected
    def __init__(
        self,
        estimator,
        *,
        response_method="auto",
        output=None,
        groups=None,
        feature_perturbation="interventional",
        index="shapley",
        interactions=False,
        n_jobs=None,
    ) -> None:
        self.estimator = estimator
        self.response_method = response_method
        self.output = output
        self.groups = groups
        self.feature_perturbation = feature_perturbation
        self.index = index
        self.interactions = interactions
        self.n_jobs = n_jobs

    def fit(self, X=None, y=None, sample_weight=None) -> Self:
        """Read the trees and take the background.

        Parameters
        ----------
        X : array or frame of shape (b, d), or None
            The background rows, any number of them, in the container and with the
            columns that the model was fitted on. None only with
            ``feature_perturbation="path_dependent"``.
        y : ignored
        sample_weight : array of shape (b,), optional
            Shares of the background rows in all means; only ratios matter.

        Returns
        -------
        self

        Raises
        ------
        UnreadableModelError
            If the model cannot be read, or the response is not a sum over its trees.
        NotFittedError
            If the model is not fitted.
        ValueError
            For invalid parameters, an empty background or invalid weights.
        """
        name = type(self).__name__
        check_parameters(self, self._constraints)
        index = player_index(self.index, name)
        pairs = pair_index(self.interactions, name)
        from_paths = self.feature_perturbation == "path_dependent"
        if X is None and not from_paths:
            raise ValueError(
                f'{name} got X=None in fit, but feature_perturbation="interventional" '
                'needs background rows: pass some, or choose "path_dependent".'
            )
        trees, self.output_names_ = self._read_output(name)
        form = Trees(trees, model_columns(self.estimator))
        if X is None:  # a row of zeros has the columns that the players are made of
            background = Background.of(
                self,
                form.in_its_container(np.zeros((1, trees.n_features))),
                None,
                self.groups,
            )
            self._background = replace(background, rows=None, weights=np.empty(0))
        else:
            self._background = Background.of(self, X, sample_weight, self.groups)
        self._check_nested(index, pairs)
        form.set_index(index, self.players_.levels)
        rows = None if from_paths else self.background_
        weights = np.ones(1) if from_paths else self.background_weights_
        form.fit(
            rows,
            weights,
            self.players_.column_player,
            self.players_.n_players,
            self.n_jobs,
        )
        if trees.raw_response is not None and rows is not None:
            probes = take_rows(rows, slice(0, CHECKED_ROWS))
            response = trees.raw_response(form.in_its_container(probes))
            check_form(
                form.predict(probes),
                response,
                np.arange(len(response)),
                form.size,
            )
        classes = np.asarray(getattr(self.estimator, "classes_", [])).tolist()
        explained = classes[-1:] if self.output is None else [self.output]
        one_of_two = len(classes) == 2 and self.output_names_ is None
        labels = self._labels(
            self.output_names_,
            pairs,
            response_method=self.response_method,
            output=self.output,
            explained_class=explained[0] if one_of_two else None,
            reward=self.feature_perturbation,
            index=None if index.adds_up else index.name,
            closed_form="trees",
        )
        self._way: Way = Exact(labels, reward=None, entropy=0, form=form)
        return self

    @corrected
    def explain(self, X) -> Explanation:
        """Explain the response for the rows of X.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns in its order.

        Returns
        -------
        explanation : Explanation
            Exact: its standard errors are zero. The model is only called for missing,
            infinite or very large numbers, because it may refuse them.

        Raises
        ------
        ValueError, TypeError
            If columns, dtypes or the container differ from the background's, or if the
            model refuses the numbers.
        """
        check_is_fitted(self, "_way", msg=NOT_FITTED)
        return self._way.explain(self._table(X), self.n_jobs, False)

    def _read_output(self, name) -> tuple[TreeEnsemble, list | None]:
        """Return the trees of the outputs to explain, and their labels where there are several."""
        method = "raw" if self.response_method == "auto" else self.response_method
        labels = np.asarray(getattr(self.estimator, "classes_", [])).tolist()
        output = self.output
        if len(labels) > 2 and output in labels:
            return read_trees(self.estimator, method, labels.index(output)), None
        trees = read_trees(self.estimator, method)
        if len(labels) == 2 and not trees.several_targets:
            output = labels[-1] if output is None else output
            # the log-odds of the second class; those of the first are their negative
            trees = trees.combined([[-1.0, 1.0]]) if trees.n_outputs == 1 else trees
        if len(labels) != trees.n_outputs:
            labels = list(range(trees.n_outputs))
        if output is None:
            return trees, labels if trees.n_outputs > 1 else None
        if output not in labels:
            raise ValueError(
                f"{name} got output={output!r}, which the response does not have: "
                f"choose None or one of {labels}."
            )
        return trees.take_output(labels.index(output)), None

"""AmortizedExplainer: attributions of many rows, learned from a few hundred sampled rows."""

from copy import copy
from operator import attrgetter
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor, Delegating
from skshapley._tables import n_rows, row_keys, take_rows
from skshapley._tools import Constraint, Count, check_parameters, corrected, generator
from skshapley._ways._learned import Learned
from skshapley.explanation import Explanation
from skshapley.rewards import InterventionalReward

LEAST_TRAINING = 30  # rows; with fewer, nothing is learned


class AmortizedExplainer(Delegating):
    """Explain many rows of a costly model by a regression on a few hundred explained rows.

    In ``fit``, the given explainer explains `n_training_rows` background rows, and a
    kernel ridge regression learns their Shapley values. Every further row costs 8 p + 1
    model rows for p players; sampling needs thousands. The values are estimates with
    calibrated standard errors. They add up to the prediction, and ``settings.learned``
    marks them.

    Parameters
    ----------
    explainer : ShapleyExplainer or TreeExplainer
        Explains the rows to learn from, and rows that resemble none of them. If it is
        not fitted, a copy of it is fitted to the same background. Only Shapley values
        of the interventional or the baseline reward can be learned, without
        interactions. An exact explainer explains all rows itself, and nothing is
        learned.
    n_training_rows : int, default=500
        Number of background rows to learn from, or the number of distinct rows if that
        is smaller. With fewer than 30 rows, the explainer explains all rows. More rows
        give smaller errors and a longer ``fit``.

    Attributes
    ----------
    explainer_ : ShapleyExplainer or TreeExplainer
        The fitted explainer.
    training_rows_ : array or frame of shape (n, d)
        The rows to learn from.
    exact_ : ClosedForm or None
        The closed form of the explainer.
    reward_ : Reward
        The reward of the explainer.
    players_, background_, background_weights_, n_features_in_, feature_names_in_
        As for the explainer.

    See Also
    --------
    ShapleyExplainer : Explains each row by itself.

    Notes
    -----
    A row is described by its numeric columns, its prediction, and the first and last
    steps of each player. These are its contributions to the empty coalition and to all
    other players, averaged over four herded background rows. The mean of first and last
    steps, shifted so that it adds up, is a first estimate. The regression learns the
    difference. Leave-one-out residuals choose its width and penalty. The ratios of
    these residuals to the posterior deviations calibrate the standard errors: intervals
    of 1.64 standard errors contain 90 % of the values of similar rows. The variance of
    the learned values is subtracted. The explainer explains rows that are further from
    the training rows than these are from each other.

    References
    ----------
    Barber, Candes, Ramdas & Tibshirani (2021), Predictive inference with the
    jackknife+, Annals of Statistics 49. Rasmussen & Williams (2006), Gaussian processes
    for machine learning, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import AmortizedExplainer, ShapleyExplainer
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> explainer = ShapleyExplainer(
    ...     lambda X: np.sin(X[:, 0] * X[:, 1]) + X[:, 2], random_state=0
    ... )
    >>> amortized = AmortizedExplainer(explainer, n_training_rows=200).fit(X[:200])
    >>> explanation = amortized.explain(X[200:])
    >>> int(np.median(explanation.n_model_rows))
    41
    >>> explanation.settings.learned
    '200 rows'
    """

    _constraints: dict[str, Constraint] = {"n_training_rows": Count()}

    @corrected
    def __init__(self, explainer, n_training_rows: int = 500) -> None:
        self.explainer = explainer
        self.n_training_rows = n_training_rows

    def fit(self, X, y=None) -> Self:
        """Fit the explainer if necessary, and learn from rows of X.

        Parameters
        ----------
        X : array or frame of shape (b, d)
            Rows like those to explain; also the background of an explainer that is not
            fitted.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For an explainer without learnable values, or invalid parameters or rows.
        """
        check_parameters(self, self._constraints)
        explainer = self.explainer
        if not isinstance(explainer, Attributor) or isinstance(
            explainer,
            AmortizedExplainer,
        ):
            raise TypeError(
                "AmortizedExplainer takes explainer as a ShapleyExplainer or "
                f"TreeExplainer; got {explainer!r}: pass ShapleyExplainer(model)."
            )
        for name, plain in (("index", "shapley"), ("interactions", False)):
            value = getattr(explainer, name, plain)
            if value != plain:
                raise ValueError(
                    "AmortizedExplainer learns Shapley values, but its explainer has "
                    f"{name}={value!r}: leave it at {plain!r}, or let the explainer "
                    "explain all rows."
                )
        reward = getattr(explainer, "reward", "interventional")
        plain = isinstance(reward, InterventionalReward) and reward.link is None
        if not plain and reward not in ("interventional", "baseline"):
            raise ValueError(
                'AmortizedExplainer learns values of the rewards "interventional" and '
                f'"baseline", but its explainer has reward={reward!r}: choose one of '
                "these, or let the explainer explain all rows."
            )
        if not hasattr(explainer, "_way"):
            explainer = copy(explainer).fit(X)
        if not explainer.players_.n_players:
            raise TypeError(
                "AmortizedExplainer explains the rows of tables, but its explainer was "
                "fitted on documents: let the explainer explain them."
            )
        self.explainer_ = explainer
        way = explainer._way
        X = explainer._table(X)
        # Equal rows teach nothing new and cost the same.
        _, different = np.unique(row_keys(X), return_index=True)
        # A fixed seed: the training rows depend on the table, not on the random state
        # of the sampling.
        rows = generator(0, 9).permutation(np.sort(different))[: self.n_training_rows]
        self.training_rows_ = take_rows(X, np.sort(rows))
        # Exact values need no learning, and few rows teach too little.
        if way.form is None and n_rows(self.training_rows_) >= LEAST_TRAINING:
            way = Learned.of(way, self.training_rows_, self.n_jobs)
        self._way = way
        return self

    def explain(self, X) -> Explanation:
        """Explain the predictions for the rows of X.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns.

        Returns
        -------
        explanation : Explanation
            If ``n_model_rows`` of a row is larger than 8 p + 1, the explainer explained
            it.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers, before the model is called.
        ModelOutputError
            If the model returns NaN, or another shape.
        """
        check_is_fitted(self, "explainer_")
        return self._way.explain(
            self._table(X),
            self.n_jobs,
            getattr(self.explainer_, "verbose", False),
        )

    estimator = property(
        attrgetter("explainer.estimator"),
        doc="The explained model.",
    )
    n_jobs = property(
        attrgetter("explainer.n_jobs"),
        doc="The workers of the explainer.",
    )

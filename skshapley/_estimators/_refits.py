"""RefitExplainer: attributions with errors due to the training data."""

from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._amortized import AmortizedExplainer
from skshapley._estimators._attributor import COUNTS, NOT_FITTED, Attributor, Delegating
from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._estimators._half_samples import Training, units_of
from skshapley._tables import n_rows, take_rows
from skshapley._tools import (
    Constraint,
    Count,
    Flag,
    Maybe,
    check_parameters,
    corrected,
    degrees_of_tails,
    entropy_from,
    progress,
)
from skshapley._ways._refits import Refits
from skshapley.explanation import Explanation

LEAST_ROWS = 8  # half samples of fewer rows are nearly all the same
# "auto": refits are added in steps until the error of most refit errors is below 25 %
FIRST_REFITS = 10
STEP = 5
MOST_REFITS = 40
PRECISION = 0.25
PROBE_ROWS = 100


class RefitExplainer(Delegating):
    """Explain a model together with refits on half samples of its training rows.

    The spread of the attributions over the refits estimates how much another training
    sample of the same size would change them: `Explanation.refit_errors`. All models
    are explained against the same background, with the same random numbers. Ten refits
    cost about five fits and eleven explanations.

    Parameters
    ----------
    estimator : estimator, or callable
        The model. If it is fitted, it is explained as it is; otherwise a clone is
        fitted to all rows. A callable takes ``(X, y)`` (and ``sample_weight``, if it is
        passed to `fit`) and returns a fitted model, for example one that stops early on
        a validation part.
    background : array, sparse matrix or frame of shape (b, d), default=None
        The rows against which all models are explained. None: those of `fit`.
    n_refits : int or "auto", default=10
        Number of refits. "auto": at least 10 and at most 40, until the relative
        standard error of most refit errors is 25 %, as the predictions of up to 100
        background rows show it.
    models : list of fitted estimators, default=None
        Models that were fitted to other samples of the same size, instead of refits.
        `fit` then needs no y.
    explainer : ShapleyExplainer or TreeExplainer, default=None
        Settings of the explanations: reward, response, groups, sampler. Its model,
        background and random state are replaced. None: ``ShapleyExplainer(model)``.
    blocks : int, default=None
        For rows in the order of time: number of blocks of successive rows, which are
        drawn whole. None: rows are independent, or in the `groups` of `fit`.
    seeds_only : bool, default=False
        Refit on all rows with other seeds. The refit errors are then those of random
        fits alone, which half samples include.
    n_jobs : int, default=None
        Workers for fits and explanations, through joblib. The result is the same for
        any number.
    random_state : None, int, Generator or RandomState, default=None
    verbose : bool, int or "auto", default="auto"
        "auto" shows progress if the work takes longer than 10 s. False is silent.

    Attributes
    ----------
    explainer_ : ShapleyExplainer or TreeExplainer
        The fitted explainer of the model.
    estimator_ : estimator
        The explained model.
    estimators_ : list of estimators
        The refits.
    samples_ : list of ndarray of int, or None
        The training rows of each refit; None for given models and other seeds.
    n_refits_ : int
    exact_ : ClosedForm or None
        The closed form of the model.
    reward_ : Reward
    players_, background_, background_weights_, n_features_in_, feature_names_in_
        As for the explainer.

    See Also
    --------
    ShapleyExplainer : Explains the model alone.
    skshapley.comparison.compare_refits : Compares two models with their refits.

    Notes
    -----
    A half sample without replacement leaves out as many rows as it keeps, so the
    variance over half samples estimates the variance over training samples without a
    further factor. Classes keep their shares. Sampled refits stop when the squared
    sampling errors of a row are a ninth of its squared refit errors. The errors say
    nothing about errors that all models share, such as a bias of the method.

    References
    ----------
    Shao & Wu (1989), A general theory for jackknife variance estimation, Annals of
    Statistics 17. Politis, Romano & Wolf (1999), Subsampling, Springer.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skshapley import RefitExplainer
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> explainer = RefitExplainer(Ridge(), random_state=0).fit(X, y)
    >>> explanation = explainer.explain(X[:1])
    >>> frame = explanation[:, ["bmi", "s5", "age"]].to_frame("long")
    >>> frame[["feature", "value", "refit_error"]].round(1)
      feature  value  refit_error
    0     bmi   18.9          1.2
    1      s5    5.2          0.4
    2     age    1.1          0.7
    """

    _constraints: dict[str, Constraint] = {
        "n_refits": Constraint(
            lambda n: n == "auto" or Count(2).allows(n),
            '"auto" or an int of at least 2',
        ),
        "models": Constraint(
            lambda models: (
                models is None or (isinstance(models, list | tuple) and len(models) > 1)
            ),
            "None or a list of at least two fitted models",
        ),
        "blocks": Maybe(Count(4)),
        "seeds_only": Flag(),
        "n_jobs": COUNTS["n_jobs"],
        "verbose": COUNTS["verbose"],
    }

    @corrected
    def __init__(
        self,
        estimator,
        background=None,
        *,
        n_refits: int | str = 10,
        models: list | None = None,
        explainer: Attributor | None = None,
        blocks: int | None = None,
        seeds_only: bool = False,
        n_jobs: int | None = None,
        random_state=None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.estimator = estimator
        self.background = background
        self.n_refits = n_refits
        self.models = models
        self.explainer = explainer
        self.blocks = blocks
        self.seeds_only = seeds_only
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @corrected
    def fit(self, X, y=None, sample_weight=None, groups=None) -> Self:
        """Refit the model, and prepare the explanations.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, d)
            The training rows of the model; also the background by default.
        y : array of shape (n,) or (n, k), default=None
            The targets.
        sample_weight : array of shape (n,), default=None
            Weights of the rows, for the fits and for the default background.
        groups : array of shape (n,), default=None
            Labels of groups of dependent rows, which are drawn whole.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or data, or if a refit has other classes than the
            model.
        RuntimeError
            If a refit fails; the finished ones are in `estimators_`.
        """
        check_parameters(self, self._constraints)
        explainer = self.explainer
        single = isinstance(explainer, Attributor) and not isinstance(
            explainer,
            AmortizedExplainer | RefitExplainer,
        )
        if explainer is not None and not single:
            raise TypeError(
                "RefitExplainer takes explainer as a ShapleyExplainer or TreeExplainer, "
                f"whose settings it uses; got {explainer!r}: pass "
                'ShapleyExplainer(model, reward="conditional"), for example.'
            )
        entropy = entropy_from(self.random_state, type(self).__name__)
        background = X if self.background is None else self.background
        weights = sample_weight if self.background is None else None
        self.samples_: list | None = None
        if self.models is not None:
            self.estimator_, self.estimators_ = self.estimator, list(self.models)
            source = f"{len(self.estimators_)} given models"
        else:
            source = self._refit(X, y, sample_weight, groups, entropy, background)
        self.n_refits_ = len(self.estimators_)
        explainers = []
        for number, model in enumerate([self.estimator_, *self.estimators_]):
            explainers.append(self._explainer(model, entropy))
            explainers[-1].fit(background, sample_weight=weights)
            if not explainers[0].players_.n_players:
                raise TypeError(
                    "RefitExplainer explains the rows of tables, and got documents: "
                    "pass a table of their features, or explain the model alone by "
                    "ShapleyExplainer(model)."
                )
            expected, outputs = (
                explainers[place]._way.labels.output_names for place in (0, -1)
            )
            if outputs != expected:
                raise ValueError(
                    f"RefitExplainer got a model with the outputs {expected}, and "
                    f"refit {number} has {outputs}: pass groups or blocks that contain "
                    "all classes, or models= with the same outputs."
                )
        self.explainer_ = explainers[0]
        main, *refits = (explainer._way for explainer in explainers)
        self._way = Refits.of(main, refits, source)
        return self

    def _explainer(self, model: Any, entropy: int) -> Attributor:
        """Return an explainer of a model, with the given settings."""
        explainer = self.explainer
        if explainer is None:
            explainer = ShapleyExplainer(None, n_jobs=self.n_jobs, verbose=False)
        replacements = {"estimator": model, "background": None, "random_state": entropy}
        parameters = {
            name: replacements.get(name, value)
            for name, value in explainer.get_params(deep=False).items()
        }
        return type(explainer)(**parameters)

    def _refit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        entropy: int,
        background: Any,
    ) -> str:
        """Fit the refits, and the model if necessary; return a phrase for them."""
        n = n_rows(X)
        columns = {"y": y, "sample_weight": sample_weight, "groups": groups}
        arrays = {
            name: None if column is None else np.asarray(column)
            for name, column in columns.items()
        }
        for name, array in arrays.items():
            if array is not None and len(array) != n:
                raise ValueError(
                    f"RefitExplainer.fit needs {name} with an element for each of {n} "
                    f"rows of X; got {len(array)}."
                )
        units, strata = units_of(
            self.estimator,
            arrays["y"],
            n,
            arrays["groups"],
            self.blocks,
        )
        if len(strata) < LEAST_ROWS // 2 or n < LEAST_ROWS:
            raise ValueError(
                f"RefitExplainer.fit needs at least {LEAST_ROWS} rows in at least "
                f"{LEAST_ROWS // 2} groups; got {n} rows in {len(strata)}. Pass models="
                " that were fitted to other samples."
            )
        training = Training(
            self.estimator,
            X,
            arrays["y"],
            arrays["sample_weight"],
            units,
            strata,
            entropy,
        )
        self.estimators_ = []
        self.estimator_ = (
            self.estimator if _is_fitted(self.estimator) else training.model(0, None)
        )
        automatic = isinstance(self.n_refits, str)
        goal = FIRST_REFITS if automatic else int(self.n_refits)
        self._extend(training, goal)
        while automatic and goal < MOST_REFITS and not self._precise(background):
            goal += STEP
            self._extend(training, goal)
        if self.seeds_only:
            return f"{goal} fits with other seeds"
        self.samples_ = [training.rows(1 + number) for number in range(goal)]
        whole = "" if groups is None else " of whole groups"
        whole = whole if self.blocks is None else f" of {self.blocks} blocks"
        return f"{goal} half samples{whole}"

    def _extend(self, training: Training, goal: int) -> None:
        """Add refits up to a number of them."""
        start = len(self.estimators_)
        with progress(goal, self.verbose, "fitting", unit="refits") as report:
            models = training.models(
                range(1 + start, 1 + goal),
                self.seeds_only,
                self.n_jobs,
            )
            try:
                for model in models:
                    self.estimators_.append(model)
                    report(len(self.estimators_), start)
            except Exception as error:
                raise RuntimeError(
                    f"RefitExplainer.fit stopped: {type(error).__name__} in one of the "
                    f"refits {1 + len(self.estimators_)} to {goal}: {error}. The earlier "
                    "ones are in .estimators_: pass them as models=, or change the "
                    "estimator."
                ) from error

    def _precise(self, background: Any) -> bool:
        """Return True if the refit errors of most predictions are known precisely."""
        n = n_rows(background)
        size = min(n, PROBE_ROWS)
        rows = take_rows(background, np.arange(size) * n // size)
        entropy = entropy_from(0, type(self).__name__)
        explainers = [
            self._explainer(model, entropy).fit(rows) for model in self.estimators_
        ]
        predictions = [
            explainer._way.predictions(explainer._table(rows))
            for explainer in explainers
        ]
        centred = np.array(predictions) - np.mean(predictions, axis=0)
        squares = (centred**2).sum(axis=0)
        degrees = degrees_of_tails(
            len(predictions) - 1,
            squares,
            (centred**4).sum(axis=0),
        )
        return bool(np.median(np.sqrt(1 / (2 * degrees))) <= PRECISION)

    @corrected
    def explain(self, X) -> Explanation:
        """Explain the predictions for the rows of X, with the errors due to the training data.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
            In the background's container, with its columns.

        Returns
        -------
        explanation : Explanation
            The attributions of the model, with `refit_values` and `refit_errors`. The
            costs include the refits.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers, before a model is called.
        ModelOutputError
            If a model returns NaN, or another shape.
        PartialExplanationError
            If an error or an interruption occurs after the model was explained; it has
            the explanation with the finished refits.
        """
        check_is_fitted(self, "_way", msg=NOT_FITTED)
        return self._way.explain(self._table(X), self.n_jobs, self.verbose)


def _is_fitted(estimator: Any) -> bool:
    """Return True for a fitted estimator."""
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):  # TypeError for functions
        return isinstance(estimator, FrozenEstimator)
    return True

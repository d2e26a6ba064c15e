"""Fitted models of every kind with a closed form, with their response and table."""

import lightgbm
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    WhiteKernel,
)
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lars,
    Lasso,
    LassoCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskLasso,
    OrthogonalMatchingPursuit,
    Perceptron,
    PoissonRegressor,
    QuantileRegressor,
    RANSACRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
    TheilSenRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    RandomizedSearchCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import (
    ClassifierChain,
    MultiOutputClassifier,
    MultiOutputRegressor,
    RegressorChain,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVR, OneClassSVM
from sklearn.tree import DecisionTreeRegressor

from skshapley.responses import mean_depth

D, N = 5, 120
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D)) * [1.0, 3.0, 0.5, 2.0, 1.0] + [0.0, 10.0, -1.0, 0.0, 5.0]
Y = X @ [1.0, -0.5, 2.0, 0.0, 0.3] + X[:, 0] * X[:, 2] + 0.1 * RNG.normal(size=N)
Y2 = np.column_stack([Y, X[:, 1] ** 2])
TWO = np.where(np.median(Y) < Y, "yes", "no")
THREE = np.digitize(Y, np.quantile(Y, [0.33, 0.66]))
SCALED = StandardScaler().fit_transform(X)
WIDE = sparse.csr_matrix(np.where(np.abs(SCALED) > 0.7, SCALED, 0.0))

CITIES = ["Rome", "Oslo", "Bern"]
MIXED = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.2, np.nan, X[:, 1]),
        "city": RNG.choice(CITIES, N),
        "pay": X[:, 0],
        "rooms": RNG.integers(0, 6, N),
    }
)


COUNTS = RNG.poisson(np.exp(SCALED / 2))


def columns():
    """Steps that derive each column from a single one, so a raw category is one player."""
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city"]),
        (
            make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
            ["age", "pay"],
        ),
        remainder="passthrough",
        sparse_threshold=0.0,
    )


def two_of_pipeline():
    return VotingRegressor(
        [
            ("scaled", make_pipeline(StandardScaler(), Ridge())),
            ("plain", LinearRegression()),
        ]
    )


def forest(kind=RandomForestRegressor):
    return kind(5, max_depth=3, random_state=0)


# name: (model, table, target, response)
# versions of scikit-learn before 1.8 know neither, and these ask for what they do
NEW_ATTRIBUTES: dict = {"l1_ratios": (0,), "use_legacy_attributes": False}
if "use_legacy_attributes" not in LogisticRegressionCV().get_params():
    NEW_ATTRIBUTES = {}

LINEAR = {
    **{
        type(model).__name__: (model, X, Y, "predict")
        for model in (
            LinearRegression(), Ridge(), RidgeCV(), Lasso(0.01), LassoCV(cv=3), ElasticNet(0.01),
            ElasticNetCV(cv=3), Lars(), LassoLarsIC(), OrthogonalMatchingPursuit(),
            BayesianRidge(), ARDRegression(), TheilSenRegressor(random_state=0),
            QuantileRegressor(alpha=0.01), PLSRegression(2),
            RANSACRegressor(random_state=0), RFE(Ridge(), n_features_to_select=3),
        )
    },
    "HuberRegressor": (HuberRegressor(max_iter=1000), SCALED, Y, "predict"),
    "SGDRegressor": (SGDRegressor(random_state=0), SCALED, Y, "predict"),
    "LinearSVR": (LinearSVR(random_state=0, max_iter=10**5), SCALED, Y, "predict"),
    "LinearRegression, two": (LinearRegression(), X, Y2, "predict"),
    "MultiTaskLasso": (MultiTaskLasso(0.1), X, Y2, "predict"),
    "Ridge, sparse": (Ridge(), WIDE, Y, "predict"),
    "KernelRidge, linear": (KernelRidge(), SCALED, Y, "predict"),
    "SVR, linear": (SVR(kernel="linear"), SCALED, Y, "predict"),
    "SVC, linear": (SVC(kernel="linear"), SCALED, TWO, "decision_function"),
    "SVC, linear, pairs": (
        SVC(kernel="linear", decision_function_shape="ovo"), SCALED, THREE, "decision_function",
    ),
    "LogisticRegression": (LogisticRegression(), SCALED, TWO, "log_odds"),
    "LogisticRegression, values": (LogisticRegression(), SCALED, TWO, "decision_function"),
    "LogisticRegression, three": (LogisticRegression(), SCALED, THREE, "decision_function"),
    "LogisticRegression, sparsified": (
        LogisticRegression().fit(SCALED, TWO).sparsify(), SCALED, None, "log_odds",
    ),
    "LogisticRegressionCV": (
        LogisticRegressionCV(Cs=[0.01], cv=3, scoring="neg_log_loss", **NEW_ATTRIBUTES),
        SCALED, TWO, "log_odds",
    ),
    "principal components": (
        make_pipeline(StandardScaler(), PCA(3, whiten=True), Ridge()), X, Y, "predict",
    ),
    "components, scaled": (
        make_pipeline(PCA(3), StandardScaler(), LogisticRegression()), X, TWO,
        "predict_proba",
    ),
    "singular vectors": (make_pipeline(TruncatedSVD(3), Lasso(0.01)), X, Y, "predict"),
    "LDA": (LinearDiscriminantAnalysis(), X, TWO, "log_odds"),
    "LDA, three": (LinearDiscriminantAnalysis(), X, THREE, "decision_function"),
    "RidgeClassifier": (RidgeClassifier(), X, TWO, "decision_function"),
    "RidgeClassifier, three": (RidgeClassifier(), X, THREE, "decision_function"),
    "LinearSVC": (LinearSVC(), SCALED, THREE, "decision_function"),
    "SGDClassifier": (
        SGDClassifier(loss="log_loss", alpha=0.1, random_state=0), SCALED, TWO, "log_odds",
    ),
    "Perceptron": (Perceptron(random_state=0), SCALED, TWO, "decision_function"),
    "OneClassSVM, linear": (OneClassSVM(kernel="linear"), X, Y, "score_samples"),
    "pipeline": (make_pipeline(StandardScaler(), "passthrough", Ridge()), X, Y, "predict"),
    "columns": (make_pipeline(columns(), Ridge()), MIXED, Y, "predict"),
}  # fmt: skip

SUMS = {
    "GridSearchCV": (
        GridSearchCV(forest(), {"max_depth": [2]}, cv=2), X, Y, "predict",
    ),
    "RandomizedSearchCV": (
        RandomizedSearchCV(Ridge(), {"alpha": [1.0]}, n_iter=1, cv=2), X, Y, "predict",
    ),
    "HalvingGridSearchCV": (
        HalvingGridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2), SCALED, TWO, "log_odds",
    ),
    "FrozenEstimator": (FrozenEstimator(Ridge().fit(X, Y)), X, None, "predict"),
    "passthrough": (make_pipeline("passthrough", forest()), X, Y, "predict"),
    "search of a pipeline": (
        GridSearchCV(make_pipeline(columns(), forest()), {}, cv=2), MIXED, Y, "predict",
    ),
    "VotingRegressor": (
        VotingRegressor(
            [("f", forest()), ("t", DecisionTreeRegressor(max_depth=3)), ("r", Ridge()),
             ("gone", "drop")],
            weights=[1, 2, 3, 4],
        ),
        X, Y, "predict",
    ),
    "VotingRegressor of pipelines": (two_of_pipeline(), X, Y, "predict"),
    "VotingRegressor of columns": (
        VotingRegressor(
            [("f", make_pipeline(columns(), forest())), ("r", make_pipeline(columns(), Ridge()))]
        ),
        MIXED, Y, "predict",
    ),
    "VotingClassifier": (
        VotingClassifier(
            [("f", forest(RandomForestClassifier)),
             ("b", BaggingClassifier(n_estimators=3, random_state=0))],
            voting="soft", weights=[1, 3],
        ),
        X, THREE, "predict_proba",
    ),
    "BaggingRegressor": (
        BaggingRegressor(n_estimators=4, max_features=0.6, random_state=0), X, Y, "predict",
    ),
    "BaggingRegressor of Ridge": (
        BaggingRegressor(
            Ridge(), n_estimators=4, max_features=0.8, bootstrap_features=True, random_state=0
        ),
        X, Y, "predict",
    ),
    "BaggingRegressor of a frame": (
        BaggingRegressor(Ridge(), n_estimators=2, max_features=0.6, random_state=0),
        pd.DataFrame(X, columns=list("abcde")), Y, "predict",
    ),
    "BaggingClassifier": (
        BaggingClassifier(n_estimators=4, max_features=0.6, random_state=0),
        X, TWO, "predict_proba",
    ),
    "BaggingClassifier, values": (
        BaggingClassifier(LogisticRegression(), n_estimators=4, random_state=0),
        SCALED, THREE, "decision_function",
    ),
    "MultiOutputRegressor": (
        MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=5)), X, Y2, "predict",
    ),
    "OneVsRestClassifier": (
        OneVsRestClassifier(GradientBoostingClassifier(n_estimators=4)),
        X, THREE, "decision_function",
    ),
    "OneVsRestClassifier, two": (
        OneVsRestClassifier(LogisticRegression()), SCALED, TWO, "decision_function",
    ),
    "StackingRegressor": (
        StackingRegressor([("f", forest()), ("r", Ridge())], cv=2, passthrough=True),
        X, Y, "predict",
    ),
    "StackingClassifier": (
        StackingClassifier(
            [("f", forest(RandomForestClassifier)),
             ("l", LogisticRegression())], stack_method="auto", cv=2,
        ).set_params(l=RidgeClassifier()),
        SCALED, TWO, "log_odds",
    ),
    "TransformedTargetRegressor": (
        TransformedTargetRegressor(Ridge(), transformer=MinMaxScaler()), X, Y, "predict",
    ),
    "TransformedTargetRegressor, two": (
        TransformedTargetRegressor(forest(), transformer=StandardScaler()), X, Y2, "predict",
    ),
    "AdaBoostClassifier": (
        AdaBoostClassifier(n_estimators=5, random_state=0), X, TWO, "decision_function",
    ),
    "AdaBoostClassifier, odds": (
        AdaBoostClassifier(n_estimators=5, random_state=0), X, TWO, "log_odds",
    ),
    "AdaBoostClassifier, three": (
        AdaBoostClassifier(n_estimators=5, random_state=0), X, THREE, "decision_function",
    ),
    "lightgbm, values": (
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
        X, TWO, "decision_function",
    ),
    "lightgbm, three values": (
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
        X, THREE, "decision_function",
    ),
}  # fmt: skip
KERNELS = {
    "SVR": (SVR(), SCALED, Y, "predict"),
    "NuSVR, sparse": (NuSVR(gamma=0.2), WIDE, Y, "predict"),
    "SVC": (SVC(), SCALED, TWO, "decision_function"),
    "SVC, pairs": (
        SVC(decision_function_shape="ovo"), SCALED, THREE, "decision_function",
    ),
    "OneClassSVM": (OneClassSVM(), SCALED, Y, "score_samples"),
    "OneClassSVM, values": (OneClassSVM(nu=0.2), SCALED, Y, "decision_function"),
    "KernelRidge": (KernelRidge(kernel="rbf"), SCALED, Y, "predict"),
    "KernelRidge, laplacian, two": (
        KernelRidge(kernel="laplacian", gamma=0.1), SCALED, Y2, "predict",
    ),
    "GaussianProcessRegressor": (
        GaussianProcessRegressor(RBF(2.0) + WhiteKernel(0.1), optimizer=None), SCALED, Y,
        "predict",
    ),
    "GaussianProcessRegressor, sum": (
        GaussianProcessRegressor(
            2.0 * RBF(np.linspace(1, 3, D)) * RBF(4.0)
            + ConstantKernel(0.5)
            + 0.1 * DotProduct()
            + RBF(5.0)
            + WhiteKernel(),
            optimizer=None, normalize_y=True,
        ),
        SCALED, Y, "predict",
    ),
    "GaussianProcessRegressor, two": (
        GaussianProcessRegressor(RBF(2.0), alpha=0.1, optimizer=None, normalize_y=True),
        SCALED, Y2, "predict",
    ),
    "SVR behind columns": (make_pipeline(columns(), SVR()), MIXED, Y, "predict"),
    "BaggingRegressor of SVR": (
        BaggingRegressor(SVR(), n_estimators=3, max_features=0.6, random_state=0),
        SCALED, Y, "predict",
    ),
    "PoissonRegressor": (PoissonRegressor(), SCALED, np.exp(Y / 10), "predict"),
    "GammaRegressor": (GammaRegressor(), X, np.exp(Y / 10), "predict"),
    "TweedieRegressor": (TweedieRegressor(power=1.5), SCALED, np.exp(Y / 10), "predict"),
    "TweedieRegressor, normal": (TweedieRegressor(), SCALED, Y, "predict"),
}  # fmt: skip
LOGISTIC = {
    "probability": (LogisticRegression(), SCALED, TWO, "predict_proba"),
    "probability, CV": (
        LogisticRegressionCV(Cs=[0.1], cv=3, scoring="neg_log_loss", **NEW_ATTRIBUTES),
        SCALED, TWO, "predict_proba",
    ),
    "probability, LDA": (LinearDiscriminantAnalysis(), X, TWO, "predict_proba"),
    "probability, SGD": (
        SGDClassifier(loss="log_loss", alpha=0.1, random_state=0), SCALED, TWO, "predict_proba",
    ),
    "probability, counts": (MultinomialNB(), COUNTS, TWO, "predict_proba"),
    "probability, counts of others": (ComplementNB(), COUNTS, TWO, "predict_proba"),
    "probability, flags": (BernoulliNB(binarize=1.0), COUNTS, TWO, "predict_proba"),
    "odds of counts": (MultinomialNB(), COUNTS, TWO, "log_odds"),
    "odds of counts of others": (ComplementNB(), COUNTS, TWO, "log_odds"),
    "odds of flags": (BernoulliNB(binarize=None), (COUNTS > 1) * 1.0, TWO, "log_odds"),
    "probability, sparse flags": (
        BernoulliNB(), sparse.csr_matrix(COUNTS), TWO, "predict_proba",
    ),
    "probability, sparse": (LogisticRegression(C=100), WIDE, TWO, "predict_proba"),
    "probability behind columns": (
        make_pipeline(columns(), LogisticRegression(max_iter=1000)), MIXED, TWO, "predict_proba",
    ),
    "probability, a vote": (
        VotingClassifier(
            [("l", make_pipeline(StandardScaler(), LogisticRegression())),
             ("f", forest(RandomForestClassifier))],
            voting="soft", weights=[2, 1],
        ),
        X, TWO, "predict_proba",
    ),
    "probability, calibrated": (
        CalibratedClassifierCV(LinearSVC(), cv=3), SCALED, TWO, "predict_proba",
    ),
    "probability, bags": (
        BaggingClassifier(LogisticRegression(), n_estimators=3, max_features=0.6, random_state=0),
        SCALED, TWO, "predict_proba",
    ),
}  # fmt: skip
MORE = {
    "GaussianNB": (GaussianNB(), X, TWO, "predict_proba"),
    "GaussianNB, odds": (GaussianNB(), SCALED, TWO, "log_odds"),
    "RegressorChain": (RegressorChain(Ridge(), order=[1, 0]), X, Y2, "predict"),
    "ClassifierChain": (
        ClassifierChain(LogisticRegression(), chain_method="decision_function"),
        SCALED, np.column_stack([TWO == "yes", X[:, 1] > 10]).astype(int), "decision_function",
    ),
    "MultiOutputClassifier": (
        MultiOutputClassifier(forest(RandomForestClassifier)),
        X, np.column_stack([TWO == "yes", THREE]).astype(int), "predict_proba",
    ),
    "MultiOutputClassifier, lines": (
        MultiOutputClassifier(LogisticRegression()),
        SCALED, np.column_stack([TWO == "yes", X[:, 1] > 10]).astype(int), "predict_proba",
    ),
    "logarithm of a target": (
        TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1),
        SCALED, np.exp(Y / 10), "predict",
    ),
    "logarithm of a target, pipeline": (
        TransformedTargetRegressor(
            make_pipeline(StandardScaler(), Ridge()), func=np.log, inverse_func=np.exp
        ),
        X, np.exp(Y / 10), "predict",
    ),
    "calibrated pipeline": (
        CalibratedClassifierCV(make_pipeline(StandardScaler(), LinearSVC()), cv=3),
        X, TWO, "predict_proba",
    ),
    "steps of lines": (
        CalibratedClassifierCV(
            make_pipeline(StandardScaler(), RidgeClassifier()), method="isotonic", cv=3
        ),
        X, TWO, "predict_proba",
    ),
    "steps of lines, three": (
        CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=2), SCALED, THREE,
        "predict_proba",
    ),
    "probability, three": (LogisticRegression(), SCALED, THREE, "predict_proba"),
    "probability, LDA, three": (LinearDiscriminantAnalysis(), X, THREE, "predict_proba"),
    "probability, counts, three": (MultinomialNB(), COUNTS, THREE, "predict_proba"),
    "probability, normal, three": (GaussianNB(), SCALED, THREE, "predict_proba"),
    "probability, each against the rest": (
        OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())), X, THREE,
        "predict_proba",
    ),
    "polynomial, some columns": (
        make_pipeline(
            make_column_transformer(
                (make_pipeline(StandardScaler(), PolynomialFeatures(2)), ["pay", "rooms"]),
                (OneHotEncoder(), ["city"]),
                (SimpleImputer(), ["age"]),
            ),
            StandardScaler(with_mean=False),
            Ridge(),
        ),
        MIXED, Y, "predict",
    ),
    "linear leaves": (
        lightgbm.LGBMRegressor(
            n_estimators=4, num_leaves=6, min_child_samples=9, linear_tree=True, verbose=-1
        ),
        X, Y, "predict",
    ),
    "linear leaves, three, categories": (
        lightgbm.LGBMClassifier(
            n_estimators=3, num_leaves=5, min_child_samples=9, linear_tree=True, verbose=-1
        ),
        MIXED[["city", "pay", "rooms"]].assign(city=MIXED["city"].astype("category")),
        THREE, "decision_function",
    ),
    "polynomial": (
        make_pipeline(StandardScaler(), PolynomialFeatures(2), StandardScaler(), Ridge()),
        X, Y, "predict",
    ),
    "polynomial, odds": (
        make_pipeline(
            PolynomialFeatures(3, interaction_only=True, include_bias=False),
            LogisticRegression(max_iter=1000),
        ),
        SCALED, TWO, "log_odds",
    ),
}  # fmt: skip
TREES = {
    "forest": (forest(), X, Y, "predict"),
    "IsolationForest": (
        IsolationForest(n_estimators=10, random_state=0),
        X,
        Y,
        mean_depth,
    ),
    "IsolationForest, some columns": (
        make_pipeline(
            StandardScaler(), IsolationForest(max_features=0.5, random_state=0)
        ),
        X,
        Y,
        mean_depth,
    ),
    "forest, three": (forest(RandomForestClassifier), X, THREE, "predict_proba"),
}
MODELS = {**TREES, **MORE, **LINEAR, **LOGISTIC, **KERNELS, **SUMS}

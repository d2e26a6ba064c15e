"""Unfitted models of scikit-learn, each with a target."""

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    StackingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, RegressorChain
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import LinearSVC

from .tables import POSITIVE, A, N, X

LEVELS = np.array(["lo", "mid", "hi"])[np.digitize(A, [-0.5, 0.5])]
TWO = np.column_stack([POSITIVE, np.digitize(X["b"], [0, 1])])
SOME = np.where(np.arange(N) % 3, POSITIVE.astype(int), -1)

# name: (model, target)
MODELS = {
    "tuned threshold": (TunedThresholdClassifierCV(LogisticRegression(), cv=3), POSITIVE),
    "fixed threshold": (FixedThresholdClassifier(GaussianNB(), threshold=0.3), POSITIVE),
    "targets of two and three classes": (MultiOutputClassifier(LogisticRegression()), TWO),
    "chain of classes": (ClassifierChain(LogisticRegression()), TWO > 0),
    "chain of numbers": (RegressorChain(Ridge()), X[["a", "b"]].to_numpy()),
    "stack": (StackingClassifier([("a", GaussianNB()), ("b", LinearSVC())], cv=3), LEVELS),
    "calibrated behind a scaler": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(LinearSVC(), cv=3)), POSITIVE,
    ),
    "pairs of classes": (OneVsOneClassifier(LinearSVC()), LEVELS),
    "half of the labels": (SelfTrainingClassifier(LogisticRegression()), SOME),
    "process of classes": (GaussianProcessClassifier(), POSITIVE),
    "splines": (make_pipeline(SplineTransformer(), Ridge()), A**2),
    "quantiles": (make_pipeline(QuantileTransformer(n_quantiles=20), KNeighborsRegressor()), A),
    "bins": (
        make_pipeline(
            KBinsDiscretizer(4, strategy="uniform"), LogisticRegression()
        ),
        POSITIVE,
    ),
    "products": (make_pipeline(PolynomialFeatures(2), Ridge()), A**2),
    "selected": (
        make_pipeline(StandardScaler(), SelectKBest(k=2), LogisticRegression()).set_output(
            transform="pandas"
        ),
        POSITIVE,
    ),
    "union": (make_pipeline(make_union(PCA(2), FunctionTransformer(np.square)), Lasso(0.01)), A),
    "a constant": (DummyRegressor(), A),
    "targets in a column": (KNeighborsRegressor(), X[["a"]]),
    "labels of categories": (LogisticRegression(), pd.Categorical(LEVELS)),
}  # fmt: skip

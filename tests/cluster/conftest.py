"""Tables, models and explainers for all engines."""

import os
import signal
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from skshapley import ShapleyExplainer

P, B, R = 8, 20, 60


def product(columns, log=None, kills=None):
    """Return a model of a table with a number of columns.

    Its class is defined here, so that workers get it by value and need not find this
    file.

    Parameters
    ----------
    columns : int
    log : path or None
        Takes a line for each process that the model arrives in.
    kills : path, "all" or None
        The first worker to predict makes the file, and dies; or every worker dies.
    """

    class Product(RegressorMixin, BaseEstimator):
        def __init__(self, log, kills):
            self.log, self.kills = log, kills
            self.n_features_in_, self.home = columns, os.getpid()

        def fit(self, X, y=None):
            return self

        def predict(self, X):
            if self.kills is not None and os.getpid() != self.home:
                if self.kills == "all":
                    os.kill(os.getpid(), signal.SIGKILL)
                with suppress(FileExistsError), open(self.kills, "x"):
                    os.kill(os.getpid(), signal.SIGKILL)
            X = np.asarray(X)
            return np.sin(X).sum(axis=1) * X[:, 0]

        def __setstate__(self, state):
            self.__dict__.update(state)
            if self.log is not None:
                with open(self.log, "a") as file:
                    file.write(f"{os.getpid()}\n")

    return Product(log, kills)


@pytest.fixture(scope="session")
def frame():
    """Rows with a key; the first rows are the background."""
    X = np.random.default_rng(0).normal(size=(B + R, P))
    frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(P)])
    return frame.assign(key=np.arange(1000, 1000 + len(frame)))


@pytest.fixture
def rows(frame):
    return frame[B:].reset_index(drop=True)


@pytest.fixture
def made(frame):
    """A function that makes a fitted explainer of a model, which is sampled."""

    def fitted(**model):
        X = frame.drop(columns="key")[:B]
        explainer = ShapleyExplainer(
            product(P, **model),
            sampler="antithetic",
            max_rows=98 * B + 1,
            random_state=0,
        )
        return explainer.fit(X)

    return fitted


@pytest.fixture
def same():
    """Return a check that the bits agree with this process, row by row, in any order."""

    def check(attributions, explainer, rows):
        wanted = explainer.explain(rows.drop(columns="key")).values
        got = attributions.sort_values("key")
        np.testing.assert_array_equal(got["key"], rows["key"])
        np.testing.assert_array_equal(got.drop(columns="key"), wanted)
        assert list(got.drop(columns="key")) == list(rows.drop(columns="key"))

    return check

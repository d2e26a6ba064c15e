"""Shared data reach each process of joblib once per run, and are removed afterwards."""

import gc
import os
import pickle
import weakref
from collections import Counter
from pathlib import Path
from threading import Lock

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.base import BaseEstimator, RegressorMixin

from skshapley import GlobalImportance, ShapleyExplainer
from skshapley._run._evaluate import Parcel

P, B, R = 12, 40, 30
X = np.random.default_rng(0).normal(size=(B + R, P))
RUN = {"sampler": "antithetic", "max_rows": 58 * B + 1, "random_state": 0}


class Content:
    """Counts its pickles and loads; plain pickle refuses its content."""

    pickled = read = 0

    def __init__(self):
        self.function = lambda x: x + 1

    def __getstate__(self):
        Content.pickled += 1
        return self.__dict__

    def __setstate__(self, state):
        Content.read += 1
        self.__dict__.update(state)


def sent(parcel):
    return pickle.loads(pickle.dumps(parcel))


def test_a_parcel_is_packed_once_and_opened_once():
    Content.pickled = Content.read = 0
    parcel = Parcel(Content())
    first, second = sent(parcel), sent(parcel)
    assert first is second
    assert first.function(1) == 2
    assert (Content.pickled, Content.read) == (1, 1)


def test_a_process_keeps_only_the_last_content():
    parcels = [Parcel(Content()) for _ in range(3)]
    received = [weakref.ref(sent(parcel)) for parcel in parcels]
    gc.collect()
    assert [reference() is None for reference in received] == [True, True, False]
    assert sent(parcels[0]) is not sent(parcels[1])


# --- whole runs -----------------------------------------------------------------------


def model(folder, lock=None):
    """A model of two megabytes that notes in `folder` which process reads it, and is asked.

    Its class is defined here, so that workers get it by value and need not find this
    file. It also notes how many arrays joblib has written to `folder` for its workers
    to map.
    """

    class Product(RegressorMixin, BaseEstimator):
        def __init__(self):
            self.n_features_in_, self.lock = P, lock
            self.ballast = np.zeros(2**18)

        def fit(self, X, y=None):
            return self

        def predict(self, X):
            self.note("asked")
            return np.sin(X).sum(axis=1) * X[:, 0]

        def note(self, what):
            files = len(list(Path(folder).rglob("*.pkl")))
            with open(Path(folder) / what, "a") as file:
                file.write(f"{os.getpid()} {files}\n")

        def __setstate__(self, state):
            self.__dict__.update(state)
            self.note("read")

    return Product()


def notes(folder, what):
    """Events by process with their counts, and the largest number of files."""
    path = folder / what
    lines = (
        [line.split() for line in path.read_text().splitlines()]
        if path.exists()
        else []
    )
    path.unlink(missing_ok=True)
    return Counter(int(pid) for pid, _ in lines), max(
        (int(n) for _, n in lines), default=0
    )


def attributions(estimator):
    return ShapleyExplainer(estimator, **RUN).fit(X[:B]).explain(X[B:])


def importance(estimator):
    return GlobalImportance(estimator, **RUN).fit(X[:B]).explain(X[B:], X[B:, 0]).rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where joblib's workers find their files: older workers would look elsewhere."""
    get_reusable_executor().shutdown(wait=True)
    yield tmp_path_factory.mktemp("mapped")
    get_reusable_executor().shutdown(wait=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    "explained", [attributions, pytest.param(importance, marks=pytest.mark.slow)]
)
def test_each_process_reads_the_model_once_in_a_run(explained, folder):
    # so little memory that there are more than ten tasks
    with sklearn.config_context(working_memory=2):
        serial = explained(model(folder))
        assert notes(folder, "read")[0] == {}
        calls = notes(folder, "asked")[0].total()
        with parallel_config("loky", n_jobs=2, temp_folder=str(folder)):
            for _ in range(2):
                spread = explained(model(folder))
                np.testing.assert_array_equal(spread.values, serial.values)
                np.testing.assert_array_equal(
                    spread.standard_errors, serial.standard_errors
                )
                readers, _ = notes(folder, "read")
                askers, most_files = notes(folder, "asked")
                assert 1 <= len(readers) <= 2
                assert set(readers.values()) == {1}
                assert os.getpid() not in readers
                assert askers.total() == calls
                assert sum(askers[pid] for pid in readers) > 20
                # the workers map one file, which does not outlive the run
                assert most_files == 1
                assert list(folder.rglob("*.pkl")) == []


@pytest.mark.slow
def test_objects_that_cannot_be_pickled(tmp_path):
    """Processes do not take them, and threads do."""
    serial = attributions(model(tmp_path))
    locked = model(tmp_path, Lock())
    with sklearn.config_context(working_memory=2):
        with (
            parallel_config("loky", n_jobs=2),
            pytest.raises(
                pickle.PicklingError, match=r"cannot pickle .*lock.*threading"
            ),
        ):
            attributions(locked)
        with parallel_config("threading", n_jobs=2):
            spread = attributions(locked)
    np.testing.assert_array_equal(spread.values, serial.values)
    assert notes(tmp_path, "read")[0] == {}

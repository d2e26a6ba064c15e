"""Torch modules and the arrays of other libraries: with a torch of a few lines, and with torch."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin

from skshapley import ShapleyExplainer

X = np.random.default_rng(0).normal(size=(12, 3))


class Tensor:
    """As much of a tensor as a module and an explainer touch."""

    def __init__(self, array, device="cpu", dtype=None):
        self.array, self.device, self.dtype = array, device, dtype

    def to(self, device, dtype):
        return Tensor(self.array.astype(dtype), device or "cpu", dtype)

    def detach(self):
        return self

    def cpu(self):
        return Tensor(self.array, "cpu")

    def is_floating_point(self):
        return self.array.dtype.kind == "f"

    def double(self):
        return Tensor(self.array.astype(np.float64))

    def numpy(self):
        return self.array


class Module:
    """As much of `torch.nn.Module` as an explainer touches."""

    training = True

    def __init__(self, weights, device="gpu", dtype=np.float32):
        self.weights = Tensor(np.asarray(weights, dtype=dtype), device, dtype)
        self.part = SimpleNamespace(training=False)
        self.seen = []

    def parameters(self):
        return iter([self.weights])

    def modules(self):
        return [self, self.part]

    def eval(self):
        self.training = False

    def __call__(self, rows):
        assert not self.training
        assert not torch_stub.grad
        self.seen.append((len(rows.array), rows.device, rows.dtype))
        return Tensor(rows.array @ self.weights.array, rows.device)


Module.__module__ = "torch.nn.modules.module"


class NoGrad:
    def __enter__(self):
        torch_stub.grad = False

    def __exit__(self, *exc):
        torch_stub.grad = True


torch_stub = ModuleType("torch")
torch_stub.grad = True
torch_stub.no_grad = NoGrad
torch_stub.float32 = np.float32
torch_stub.as_tensor = Tensor


@pytest.fixture
def few_lines(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch_stub)


@pytest.mark.parametrize(
    "table", [X, pd.DataFrame(X), sparse.csr_array(X)], ids=lambda t: type(t).__name__
)
def test_modules_can_be_explained(few_lines, table):
    module = Module([[1.0], [2.0], [3.0]])
    rows = table.iloc[:2] if hasattr(table, "iloc") else table[:2]
    made = ShapleyExplainer(module).fit(table).explain(rows)
    # one column of output is one response, without an axis
    np.testing.assert_allclose(
        made.values, (X[:2] - X.mean(axis=0)) * [1, 2, 3], atol=1e-5
    )
    assert {(device, dtype) for _, device, dtype in module.seen} == {
        ("gpu", np.float32)
    }
    assert max(n for n, _, _ in module.seen) > 8
    # as it was: the part was in evaluation mode
    assert module.training
    assert not module.part.training


def test_several_outputs_in_double_precision(few_lines):
    module = Module(np.eye(3), dtype=np.float64)
    made = ShapleyExplainer(module, output=1).fit(X).explain(X[:2])
    np.testing.assert_allclose(made.values[:, 1], X[:2, 1] - X[:, 1].mean(), atol=1e-12)
    assert made.settings.output == 1


def test_failing_modules_name_the_rows(few_lines):
    module = Module(np.ones((4, 1)))
    with pytest.raises(
        RuntimeError, match="torch module Module failed on 12 rows of 3 "
    ) as caught:
        ShapleyExplainer(module).fit(X)
    assert isinstance(caught.value.__cause__, ValueError)
    assert module.training  # put back all the same


def test_unsupported_inputs_of_modules(few_lines):
    with pytest.raises(
        TypeError, match="takes numbers, and got a table of dtype object"
    ):
        ShapleyExplainer(Module(np.ones((1, 1)))).fit(
            pd.DataFrame({"town": ["Rome", "Oslo"]})
        )
    with pytest.raises(ValueError, match="'predict' for a Module, which is called"):
        ShapleyExplainer(Module(np.ones((3, 1))), response_method="predict").fit(X)


class OnlyDlpack:
    """An array of the array API that is nothing else."""

    def __init__(self, array):
        self._array = array
        self.shape = array.shape

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class OnlyArray:
    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return self._array if dtype is None else self._array.astype(dtype)


@pytest.mark.parametrize("kind", [Tensor, OnlyDlpack, OnlyArray])
def test_functions_that_return_arrays_of_other_libraries(kind):
    expected = (
        ShapleyExplainer(lambda rows: rows @ [1.0, 2.0, 3.0]).fit(X).explain(X[:2])
    )
    made = (
        ShapleyExplainer(lambda rows: kind(rows @ [1.0, 2.0, 3.0]))
        .fit(X)
        .explain(X[:2])
    )
    np.testing.assert_array_equal(made.values, expected.values)
    method = ShapleyExplainer(Model(kind)).fit(X).explain(X[:2])
    np.testing.assert_array_equal(method.values, expected.values)


class Model(RegressorMixin, BaseEstimator):
    def __init__(self, kind):
        self.kind = kind

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return self.kind(X @ [1.0, 2.0, 3.0])

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.slow
def test_real_torch_modules():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = (
        torch.nn.Linear(3, 8),
        torch.nn.ReLU(),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(8, 1),
    )
    module = torch.nn.Sequential(*layers)
    made = ShapleyExplainer(module, random_state=0).fit(X).explain(X[:3])
    assert module.training
    module.eval()
    with torch.no_grad():
        said = module(torch.as_tensor(X[:3], dtype=torch.float32)).numpy()[:, 0]
    np.testing.assert_allclose(made.predictions, said, rtol=1e-6)
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=0, atol=1e-8)

    weights = torch.nn.Linear(3, 2)  # whose answers have a graph
    with_graph = ShapleyExplainer(
        lambda rows: weights(torch.as_tensor(rows, dtype=torch.float32))
    )
    made = with_graph.fit(X).explain(X[:2])
    assert made.values.shape == (2, 3, 2)

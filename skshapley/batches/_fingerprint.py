"""Fingerprints of explainers and tables that are the same in every process.

A function is hashed by its code, constants, defaults, closure and the globals that it
uses. Objects other than numbers, texts, arrays and functions are compared by the
model's predictions instead.
"""

import dis
import sys
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator

from skshapley._tables import as_pandas, row_keys
from skshapley._tools import unaddressed

LONGEST = 400
PLAIN = (str, bytes, int, float, complex, np.generic, type(None))


def digest_of(*parts) -> str:
    """Return a 128-bit hash of arrays, texts and numbers, equal in every process."""
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray) and part.dtype.kind != "O":
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:  # the bytes of an array of objects are addresses
            content = part.tolist() if isinstance(part, np.ndarray) else part
            state.update(repr(content).encode("utf-8", "backslashreplace"))
        state.update(b"|")
    return state.hexdigest()


def table_digest(X, index=None) -> str:
    """Return the hash of a table's values, names and types, and of its index."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        content: list = [X]
    elif sparse.issparse(X):
        # scipy chooses 32 or 64 bits for indices by size; the values are the same.
        content = [
            X.shape,
            X.data,
            *(part.astype(np.int64) for part in (X.indices, X.indptr)),
        ]
    else:
        frame = as_pandas(X)
        try:
            keys = pd.util.hash_pandas_object(frame, index=False).to_numpy()
        except TypeError:  # cells with lists have no hash
            keys = row_keys(frame)
        content = [
            [(str(name), str(dtype)) for name, dtype in frame.dtypes.items()],
            keys,
        ]
    if index is not None and not isinstance(index, pd.RangeIndex):
        content += [list(index.names), pd.util.hash_pandas_object(index).to_numpy()]
    return digest_of(*content)


def described(value: Any) -> str:
    """Return the complete text of a value, equal in every process."""
    if isinstance(value, BaseEstimator):
        inner = ", ".join(
            f"{name}={described(parameter)}"
            for name, parameter in value.get_params(deep=False).items()
        )
        return f"{type(value).__name__}({inner})"
    # Sets have a different order in each process.
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}({sorted(map(described, value))})"
    # NumPy shortens the text of arrays with more than a thousand numbers, so different
    # ones could look equal.
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        text = unaddressed(repr(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({digest_of(text)})"


# Libraries on which the bits of the results may depend
LIBRARIES = ("skshapley", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow")
# Parameters of explainers that do not change the results, or are recorded separately
SILENT = {"estimator", "background", "n_jobs", "verbose", "random_state"}
CODE = "model's code"


def explainer_facts(explainer: Any) -> dict:
    """Return the inputs of the results: parameters, model and background, as texts and hashes."""
    parameters = explainer.get_params(deep=False)
    settings = parameters.pop("explainer", None)  # the explainer inside
    if settings is not None:
        parameters |= settings.get_params(deep=False)
    facts: dict = {
        name: described(value)
        for name, value in parameters.items()
        if name not in SILENT
    }
    code = code_digest(explainer.estimator)
    facts["explainer"] = type(explainer).__name__
    facts["model"] = described(explainer.estimator)
    state = explainer._way.state()
    if "training rows" in state:
        facts["training rows"] = table_digest(state.pop("training rows"))
    answers: list = []
    for name, content in state.items():
        arrays = content if isinstance(content, list) else [table_digest(content)]
        answers += [name, *arrays]
    facts["model's answers"] = digest_of(*answers)
    # a function that changes with each call, such as a counter, is compared by its
    # predictions
    facts[CODE] = code if code == code_digest(explainer.estimator) else None
    facts["working_memory"] = sklearn.get_config()["working_memory"]
    if explainer.background_ is not None:
        facts["background"] = digest_of(
            table_digest(explainer.background_),
            explainer.background_weights_,
        )
    return facts


def versions() -> dict:
    """Return the versions of the libraries that results may depend on."""
    # The version of Python determines the code of functions.
    numbers = {"python": ".".join(map(str, sys.version_info[:2]))}
    for name in LIBRARIES:
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers


def differences(old: dict, new: dict, path: str = "") -> list[str]:
    """Return the facts that differ, as texts; unknown code equals any code."""
    changes = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            changes += differences(before, after, f"{path}{name}.")
        # A function without readable code is compared by its predictions only.
        elif before != after and not (name == CODE and None in (before, after)):
            changes.append(f"{path}{name} was {before} and is {after}")
    return changes


# --- functions ------------------------------------------------------------------------


def code_digest(model: Any) -> str | None:
    """Return the hash of a function or partial function; None for other models."""
    return (
        digest_of(_known(model, ()))
        if isinstance(model, FunctionType | partial)
        else None
    )


def _known(value: Any, within: tuple[CodeType, ...]) -> Any:
    """Return a value for a hash; "unknown" for objects, which are compared by predictions.

    Parameters
    ----------
    value : object
    within : tuple of code
        The functions that contain the value; they may be recursive.
    """
    if isinstance(value, FunctionType):
        code = value.__code__
        return (
            within.index(code)
            if code in within
            else [*_function_parts(value, (*within, code))]
        )
    if isinstance(value, partial):
        return _known([value.func, value.args, value.keywords], within)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return digest_of(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [_known(part, within) for part in value]
    if isinstance(value, dict):
        return sorted(
            (repr(key), repr(_known(part, within))) for key, part in value.items()
        )
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, ModuleType | type):
        return value.__name__
    return repr(value) if isinstance(value, PLAIN) else "unknown"


def _function_parts(
    function: FunctionType,
    within: tuple[CodeType, ...],
) -> Iterator[Any]:
    """Yield a function's code and the values that it uses."""
    code, space = function.__code__, function.__globals__
    yield list(_code_parts(code))
    for value in (
        function.__defaults__,
        function.__kwdefaults__,
        *[cell.cell_contents for cell in function.__closure__ or ()],
    ):
        yield _known(value, within)
    for name in sorted(_globals_of(code) & space.keys()):
        yield name, _known(space[name], within)


def _code_parts(code: CodeType) -> Iterator[Any]:
    """Yield the instructions and constants of a function, without its position in a file."""
    yield code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars
    for part in code.co_consts:
        yield (
            list(_code_parts(part)) if isinstance(part, CodeType) else _known(part, ())
        )


def _globals_of(code: CodeType) -> set[str]:
    """Return the names of the globals that a function uses."""
    names = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname == "LOAD_GLOBAL"
    }
    return names.union(
        *(_globals_of(part) for part in code.co_consts if isinstance(part, CodeType)),
    )

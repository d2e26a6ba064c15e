"""The state of a fitted model as a hash that is the same in every process.

Plain pickles of one model differ from process to process: structured arrays have padding, sets an
order, searches the time that they took, and equal texts may be one object or two. Here arrays are
hashed by their fields, sets and attributes in order, times and random states not at all, and every
object anew. A function is hashed by its code, constants, defaults, closure and the globals that it
uses.
"""

import dis
import pickle
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from types import CodeType, FunctionType, MethodType, ModuleType, NotImplementedType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

# Whose own ways to be pickled hold nothing of the process; classes of others only if they have none
LIBRARIES = {"builtins", "collections", "copyreg", "numpy", "pandas", "scipy", "sklearn"}
LIBRARIES |= {"_loss"}  # the name that scikit-learn 1.6 gives to its compiled losses
BOOSTERS = {"xgboost", "lightgbm"}


def digest_of(*parts) -> str:
    """Return 128 bits of a hash of arrays, texts and numbers, the same in every process."""
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:
            state.update(repr(part).encode("utf-8", "backslashreplace"))
        state.update(b"|")
    return state.hexdigest()


def state_digest(model: Any) -> str | None:
    """Return the hash of a model's state, or None where no other process could find the same.

    Callable objects that are no functions have no state: they may change and mean the same.
    """
    if isinstance(model, MethodType):
        model = model.__self__
    if callable(model) and not isinstance(model, (FunctionType, partial)):
        return None
    try:
        return _digest(model)
    except Exception:  # objects that cannot be pickled raise errors of many types
        return None


def _digest(thing: Any, within: tuple[CodeType, ...] = ()) -> str:
    target = _Hash()
    _Canonical(target, within).dump(thing)
    return target.state.hexdigest()


class _Hash:
    """A file that keeps only the hash of its content."""

    def __init__(self) -> None:
        self.state = blake2b(digest_size=16)

    def write(self, data: bytes) -> None:
        self.state.update(data)


class _Canonical(pickle.Pickler):
    """Pickles equal things to equal bytes, or refuses."""

    def __init__(self, file: _Hash, within: tuple[CodeType, ...]) -> None:
        super().__init__(file, protocol=4)
        self.fast = True  # no memo: an equal thing need not be the same thing
        self.within = within  # functions that are being hashed, which may use themselves

    def persistent_id(self, thing: Any) -> tuple | str | None:
        """Return the identifier of an array, a set, attributes or a booster; None for others."""
        kind = type(thing)
        if isinstance(thing, np.ndarray):
            return "array", *_array_parts(thing)
        if isinstance(thing, dict):
            items = thing.items()
            return "dict", sorted(
                (_digest(k), _digest(v, self.within)) for k, v in items if not _is_time(k)
            )
        if kind in (set, frozenset):
            return "set", sorted(map(_digest, thing))
        if isinstance(thing, FunctionType) and _library(thing) not in LIBRARIES | BOOSTERS:
            return "function", *_function_parts(thing, self.within)
        if isinstance(thing, partial):
            return "partial", _digest([thing.func, thing.args, thing.keywords], self.within)
        if isinstance(thing, (np.random.RandomState, np.random.Generator)):
            return "random"  # what fitting drew from, seeded by the system where nobody did
        if kind.__name__ == "Booster" and _library(kind) in BOOSTERS:
            return "booster", _booster_text(thing)
        return None

    def reducer_override(self, thing: Any) -> NotImplementedType:
        """Refuse objects with state that may depend on this process."""
        kind: Any = type(thing)
        plain = (
            kind.__reduce__ is object.__reduce__
            and kind.__reduce_ex__ is object.__reduce_ex__
            and kind.__getstate__ in (object.__getstate__, BaseEstimator.__getstate__)
        )
        by_name = hasattr(thing, "__qualname__")  # a class or a function
        if not (plain or by_name or _library(kind) in LIBRARIES | BOOSTERS):
            raise pickle.PicklingError(f"{kind.__name__} has a way of its own to be pickled")
        return NotImplemented


def _library(kind: Any) -> str:
    return str(kind.__module__).partition(".")[0]


def _function_parts(function: FunctionType, within: tuple[CodeType, ...]) -> Iterator[Any]:
    """Yield the hashes of a function's code and of the values that it uses."""
    code = function.__code__
    if code in within:
        yield "itself", within.index(code)
        return
    within = (*within, code)
    yield list(_code_parts(code))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (function.__defaults__, function.__kwdefaults__, *cells):
        yield _known(value, within)
    space = function.__globals__
    for name in sorted(_globals_of(code) & space.keys()):
        value = space[name]
        yield name, value.__name__ if isinstance(value, ModuleType) else _known(value, within)


def _code_parts(code: CodeType) -> Iterator[Any]:
    """Yield the instructions and constants of a function, without its place in a file."""
    yield code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield list(_code_parts(constant))
        else:
            yield sorted(map(repr, constant)) if isinstance(constant, frozenset) else repr(constant)


def _globals_of(code: CodeType) -> set[str]:
    """Return the names of the globals that a function uses."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return own.union(*map(_globals_of, inner))


def _known(value: Any, within: tuple[CodeType, ...]) -> str:
    """Return the hash of a value, or that it is not known: then the answers alone are compared."""
    if callable(value) and not isinstance(value, (FunctionType, partial, MethodType, type)):
        return "unknown"
    try:
        return _digest(value, within)
    except Exception:
        return "unknown"


def _is_time(key: Any) -> bool:
    return isinstance(key, str) and key.rstrip("_").endswith("time")


def _array_parts(array: np.ndarray) -> tuple:
    """Return type, shape and hash of an array; of a structured one, of each of its fields."""
    if array.dtype.names is not None:
        return array.shape, [(name, *_array_parts(array[name])) for name in array.dtype.names]
    if array.dtype.hasobject:
        return array.shape, _digest(array.ravel().tolist())
    return array.shape, digest_of(array)


def _booster_text(booster: Any) -> str:
    """Return the hash of a booster's trees and parameters, without session details."""
    if _library(type(booster)) == "xgboost":
        return digest_of(bytes(booster.save_raw("ubj")))
    return digest_of(booster.model_to_string(num_iteration=-1))

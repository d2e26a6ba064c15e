"""Hashes of model functions that are equal in every process.

A function is hashed by its code, constants, defaults, closure and the globals that it uses. Objects
other than numbers, texts, arrays and functions are compared by the model's predictions instead.
"""

import dis
from collections.abc import Iterator
from functools import partial
from hashlib import blake2b
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

PLAIN = (str, bytes, int, float, complex, np.generic, type(None))


def digest_of(*parts) -> str:
    """Return a 128-bit hash of arrays, texts and numbers, equal in every process."""
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:
            state.update(repr(part).encode("utf-8", "backslashreplace"))
        state.update(b"|")
    return state.hexdigest()


def code_digest(model: Any) -> str | None:
    """Return the hash of a function or partial function; None for other models."""
    return digest_of(_known(model, ())) if isinstance(model, FunctionType | partial) else None


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
        return within.index(code) if code in within else [*_function_parts(value, (*within, code))]
    if isinstance(value, partial):
        return _known([value.func, value.args, value.keywords], within)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return digest_of(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [_known(part, within) for part in value]
    if isinstance(value, dict):
        return sorted((repr(key), repr(_known(part, within))) for key, part in value.items())
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value))
    if isinstance(value, ModuleType | type):
        return value.__name__
    return repr(value) if isinstance(value, PLAIN) else "unknown"


def _function_parts(function: FunctionType, within: tuple[CodeType, ...]) -> Iterator[Any]:
    """Yield a function's code and the values that it uses."""
    code, space = function.__code__, function.__globals__
    yield list(_code_parts(code))
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (function.__defaults__, function.__kwdefaults__, *cells):
        yield _known(value, within)
    for name in sorted(_globals_of(code) & space.keys()):
        yield name, _known(space[name], within)


def _code_parts(code: CodeType) -> Iterator[Any]:
    """Yield the instructions and constants of a function, without its position in a file."""
    yield code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars
    for part in code.co_consts:
        yield list(_code_parts(part)) if isinstance(part, CodeType) else _known(part, ())


def _globals_of(code: CodeType) -> set[str]:
    """Return the names of the globals that a function uses."""
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return own.union(*map(_globals_of, inner))

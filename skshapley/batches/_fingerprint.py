"""What tells whether a run goes on with the same data, model and settings."""

import re
import sys
from dataclasses import fields
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import BaseEstimator

from skshapley._tables._inputs import as_pandas, take_rows
from skshapley._tools._random import generator

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
# What the bits of the results may depend on
LIBRARIES = ("skshapley", "numpy", "scipy", "scikit-learn", "pandas", "pyarrow")
# Parameters of explainers that do not change what comes out, or are recorded on their own
SILENT = {"estimator", "n_jobs", "verbose", "random_state"}
PROBES, PROBES_EACH = 32, 8
LONGEST = 400


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


def table_digest(X, index=None) -> str:
    """Return the hash of a table's values, names and types, and of its index."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        content: list = [X]
    else:
        frame = as_pandas(X)
        names = [(str(name), str(dtype)) for name, dtype in frame.dtypes.items()]
        content = [names, pd.util.hash_pandas_object(frame, index=False).to_numpy()]
    if index is not None and not isinstance(index, pd.RangeIndex):
        content += [list(index.names), pd.util.hash_pandas_object(index).to_numpy()]
    return digest_of(*content)


def answers_digest(explainer) -> str:
    """Return the hash of what the explainer's model says, and of its trees where they were read.

    Pickles of one model differ from process to process (padding of structured arrays, counters of
    k-d trees), so a model that is asked is known by its answers: on the background, and on hybrids
    of its rows, to the last bit.
    """
    exact = getattr(explainer, "exact_", None)
    trees = None if exact is None else _trees_digest(exact.trees)
    return digest_of(trees, _hybrids_digest(explainer) if hasattr(explainer, "reward_") else None)


def _hybrids_digest(explainer):
    game = explainer.reward_.game(take_rows(explainer.background_, slice(0, PROBES)))
    r, p, b = game.n_rows, game.n_players, game.n_references
    rng = generator(0, 2)
    present = rng.random((r, PROBES_EACH, p)) < 0.5
    references = rng.integers(b, size=(r, PROBES_EACH, 1))
    rows = np.arange(r)
    return digest_of(game.empty(rows), game.full(rows), game(present, rows, references))


def _trees_digest(trees):
    parts = [getattr(trees, field.name) for field in fields(trees)]
    kept = [part for part in parts if isinstance(part, (np.ndarray, int, bool))]
    splits = [(s.node, sorted(s.listed), s.listed_left) for s in trees.category_splits]
    return digest_of(*kept, splits)


def told(value) -> str:
    """Return the text of a value, whole, without the address that it has in this process."""
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False).items()
        inner = ", ".join(f"{name}={told(parameter)}" for name, parameter in parameters)
        return f"{type(value).__name__}({inner})"
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        text = ADDRESS.sub("", repr(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({digest_of(text)})"


def explainer_facts(explainer) -> dict:
    """Return what the results depend on: parameters, model and background, as texts and hashes."""
    parameters = explainer.get_params(deep=False)
    facts = {name: told(value) for name, value in parameters.items() if name not in SILENT}
    facts["explainer"] = type(explainer).__name__
    facts["model"] = told(explainer.estimator)
    facts["model's answers"] = answers_digest(explainer)
    facts["working_memory"] = sklearn.get_config()["working_memory"]
    if explainer.background_ is not None:
        weights = getattr(explainer, "background_weights_", None)
        facts["background"] = digest_of(table_digest(explainer.background_), weights)
    return facts


def versions() -> dict:
    """Return the versions of the libraries that results may depend on."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def differences(old: dict, new: dict, path="") -> list[str]:
    """Return the facts that differ, as texts."""
    found = []
    for name in dict.fromkeys([*old, *new]):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            found += differences(before, after, f"{path}{name}.")
        elif before != after:
            found.append(f"{path}{name} was {before} and is {after}")
    return found

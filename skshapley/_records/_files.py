"""Explanations in files: an archive that holds all of one, and Parquet for other programs."""

import json
import os
import zipfile
import zlib
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skshapley._records._interactions import Interactions
from skshapley._records._parts import BY_ROW
from skshapley._records._settings import Settings
from skshapley._tables._archive import Arrays, pack, read_frame, unpack, write_frame
from skshapley._tables._scalars import decoded, encoded

if TYPE_CHECKING:
    from skshapley.explanation import Explanation

FORMAT = "skshapley.Explanation"
VERSION = 1
PAIRS = "interactions."
BY_PAIR = ("values", "standard_errors", "attributions", "base_values")
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, ValueError)


def save(explanation: "Explanation", path: str | os.PathLike) -> None:
    """Do what `Explanation.save` does."""
    arrays: Arrays = {
        name: part for name in BY_ROW if (part := getattr(explanation, name)) is not None
    }
    names, pairs = explanation.output_names, explanation.interactions
    if pairs is not None:
        parts = {PAIRS + name: getattr(pairs, name) for name in BY_PAIR}
        arrays |= {name: part for name, part in parts.items() if part is not None}
    try:
        data = write_frame(explanation.data, arrays, "data")
    except TypeError as error:
        raise TypeError(f"Explanation.save: {error}") from error
    settings = asdict(explanation.settings)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "feature_names": _written(explanation.feature_names),
        "output_names": None if names is None else _written(names),
        "settings": {name: encoded(value) for name, value in settings.items()},
        "interactions": None if pairs is None else pairs.index,
        "data": data,
    }
    path = Path(path)
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_bytes(pack(content, arrays))
    os.replace(draft, path)  # a file that was there stays whole until the new one is


def load(path: str | os.PathLike) -> dict[str, Any]:
    """Return the parts of the Explanation that `save` wrote."""
    data = Path(path).read_bytes()
    try:
        content, arrays = unpack(data)
        version = content["version"] if content["format"] == FORMAT else None
        known = {item.name for item in fields(Settings)}
        if isinstance(version, int) and (version > VERSION or content["settings"].keys() - known):
            raise FutureFormatError
        return _parts(content, arrays)
    except FutureFormatError:
        raise ValueError(
            f"Explanation.load got {str(path)!r}, which a later version of skshapley wrote: install"
            f" that one."
        ) from None
    except (*DAMAGED, json.JSONDecodeError) as error:
        raise ValueError(
            f"Explanation.load got {str(path)!r}, which is damaged or was not written by"
            f" Explanation.save: {error}."
        ) from error


class FutureFormatError(Exception):
    """A file holds what this version does not know."""


def _parts(content: dict, arrays: Arrays) -> dict[str, Any]:
    names, outputs = _read(content["feature_names"]), content["output_names"]
    outputs = None if outputs is None else _read(outputs)
    data = read_frame(content["data"], arrays)
    parts: dict[str, Any] = {name: arrays.get(name) for name in BY_ROW}
    pairs = None
    if content["interactions"] is not None:
        numbers: dict[str, Any] = {name: arrays.get(PAIRS + name) for name in BY_PAIR}
        pairs = Interactions(
            **numbers,
            feature_names=names,
            index=content["interactions"],
            rows=data.index,
            output_names=outputs,
        )
    settings = {name: decoded(value) for name, value in content["settings"].items()}
    return dict(
        **parts,
        data=data,
        feature_names=names,
        output_names=outputs,
        settings=Settings(**settings),
        interactions=pairs,
    )


def _written(names: np.ndarray) -> dict:
    """Return names as JSON."""
    return {"dtype": names.dtype.str, "names": [encoded(name) for name in names.tolist()]}


def _read(content: dict) -> np.ndarray:
    """Return the names that were written."""
    names = np.empty(len(content["names"]), dtype=object)
    names[:] = [decoded(name) for name in content["names"]]
    return names.astype(content["dtype"])

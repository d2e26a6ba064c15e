"""Explanations of documents as lines, one for each document, output and token, and back.

Columns: ``row``, ``key:<name>`` for each key, ``output`` where there are several, ``position`` of
the token in its document, from 0, ``token``, ``piece`` (the token with the spaces and punctuation
after it), ``value``, ``error``, ``prediction``, ``base_value``, ``n_evaluations``,
``n_model_rows``, ``converged``. A document without tokens has one line, whose token is null.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from skshapley._records._arrow import key_arrays, output_array
from skshapley._records._settings import Settings
from skshapley._tables._documents import Piece
from skshapley.explanation import Explanation
from skshapley.rewards._documents import numbered

if TYPE_CHECKING:
    import pyarrow as pa

# What each output of a document has once, and its lines repeat; by the name of the attribute
ENDS = {"prediction": "predictions", "base_value": "base_values"}
COSTS = ("n_evaluations", "n_model_rows", "converged")


@dataclass(frozen=True, eq=False)
class _Lines:
    """Where the lines are in an array ``(r, p, k)``, one array entry for each line.

    Attributes
    ----------
    row, position, column, output : ndarray of int
        The column of a document without tokens is -1.
    """

    row: np.ndarray
    position: np.ndarray
    column: np.ndarray
    output: np.ndarray

    @classmethod
    def of(cls, explanation: Explanation) -> Self:
        """Return those of an explanation, document by document and output by output."""
        r, k = len(explanation), _n_outputs(explanation.output_names)
        places = [_in_order(row) or [-1] for row in explanation.data.to_numpy()]
        lengths = np.array([len(own) for own in places])
        sizes = np.repeat(lengths, k)
        starts = np.cumsum(sizes) - sizes
        return cls(
            row=np.repeat(np.arange(r), lengths * k),
            position=np.arange(sizes.sum()) - np.repeat(starts, sizes),
            column=np.array([*chain.from_iterable(own * k for own in places)], dtype=np.intp),
            output=np.repeat(np.tile(np.arange(k), r), sizes),
        )

    @property
    def place(self) -> tuple[np.ndarray, ...]:
        """The place of each line in the array."""
        return self.row, self.column, self.output

    def take(self, lines: np.ndarray) -> "_Lines":
        """Return some lines."""
        return _Lines(
            *(part[lines] for part in (self.row, self.position, self.column, self.output))
        )


def token_columns(
    explanation: Explanation, rows: np.ndarray, keyed: bool
) -> Iterator[tuple[str, "pa.Array"]]:
    """Yield names and arrays, one line for each document, output and token.

    Parameters
    ----------
    explanation : Explanation
        Of documents.
    rows : ndarray of shape (r,), int
        What stands in ``row``.
    keyed : bool
        Whether the index of the documents is kept.
    """
    import pyarrow as pa

    lines = _Lines.of(explanation)
    there = lines.column >= 0
    yield "row", pa.array(rows[lines.row])
    if keyed:
        for name, keys in key_arrays(explanation.index, typed=True):
            yield name, keys.take(lines.row)
    if explanation.output_names is not None:
        yield "output", output_array(explanation.output_names).take(lines.output)
    yield "position", pa.array(lines.position)
    names, data = explanation.feature_names, explanation.data.to_numpy()
    tokens = [None if at < 0 else _token(names[at]) for at in lines.column]
    yield "token", pa.array(tokens, pa.string())
    spots = zip(lines.row, lines.column, strict=True)
    yield (
        "piece",
        pa.array([None if at < 0 else str(data[row, at]) for row, at in spots], pa.string()),
    )
    r, k = len(explanation), _n_outputs(explanation.output_names)
    for name, numbers in (("value", explanation.values), ("error", explanation.standard_errors)):
        line = np.full(len(there), np.nan)
        if numbers is not None:
            line[there] = numbers.reshape(*data.shape, k)[lines.take(there).place]
        yield name, pa.array(line)
    for name, attribute in ENDS.items():
        yield name, pa.array(getattr(explanation, attribute).reshape(r, k)[lines.row, lines.output])
    for name in COSTS:
        yield name, pa.array(getattr(explanation, name)[lines.row])


def first_lines(table: "pa.Table") -> np.ndarray:
    """Return the place of the first line of each document and output."""
    return np.flatnonzero(table["position"].to_numpy() == 0)


def lines_of(table: "pa.Table", documents: np.ndarray, k: int) -> "pa.Table":
    """Return the lines of some documents, by their place among them, with k outputs each."""
    starts = first_lines(table)[::k]
    stops = [*starts[1:], len(table)]
    spans = [np.arange(starts[at], stops[at]) for at in documents]
    return table.take(np.concatenate(spans))


def token_explanation(
    table: "pa.Table",
    index: Callable[["pa.Table"], pd.Index],
    output_names: list | None,
    settings: Settings,
) -> Explanation:
    """Return the explanation whose lines are given.

    Parameters
    ----------
    table : pyarrow.Table
        All lines of some documents.
    index : callable
        Makes the index of the documents, of the first line of each.
    output_names : list or None
    settings : Settings
    """
    k = _n_outputs(output_names)
    starts = first_lines(table)
    r, heads = len(starts) // k, table.take(starts[::k])
    lines, names = _found(table, k)
    there = lines.column >= 0
    lines = lines.take(there)
    values, errors = np.zeros((2, r, len(names), k))
    for array, name in ((values, "value"), (errors, "error")):
        array[lines.place] = table[name].to_numpy()[there]
    data = np.full((r, len(names)), None, dtype=object)
    pieces = np.array(table["piece"].to_pylist(), dtype=object)[there]
    for row, order, at, piece in zip(lines.row, lines.position, lines.column, pieces, strict=True):
        data[row, at] = Piece.at(int(order), piece)

    def shaped(array: np.ndarray) -> np.ndarray:
        return array[..., 0] if output_names is None else array

    def ends(name: str) -> np.ndarray:
        return shaped(table[name].to_numpy()[starts].reshape(r, k))

    return Explanation(
        values=shaped(values),
        standard_errors=None if np.isnan(errors).all() else shaped(errors),
        base_values=ends("base_value"),
        predictions=ends("prediction"),
        data=pd.DataFrame(data, columns=names, index=index(heads), dtype=object),
        feature_names=np.array(names, dtype=object),
        output_names=None if output_names is None else np.array(output_names, dtype=object),
        n_evaluations=heads["n_evaluations"].to_numpy(),
        n_model_rows=heads["n_model_rows"].to_numpy(),
        converged=heads["converged"].to_numpy(),
        settings=settings,
    )


def _found(table: "pa.Table", k: int) -> tuple[_Lines, list[str]]:
    """Return where the lines of a file belong, and the names of the columns."""
    position = table["position"].to_numpy()
    group = np.cumsum(position == 0) - 1
    row, output = group // k, group % k
    tokens = table["token"].to_pylist()
    words: list[list[str]] = [[] for _ in range(row[-1] + 1)]
    for at, which, token in zip(row, output, tokens, strict=True):
        if which == 0 and token is not None:
            words[at].append(token)
    labels = [numbered(own) for own in words]
    names = list(dict.fromkeys(chain.from_iterable(labels)))
    place = {name: column for column, name in enumerate(names)}
    spots = zip(row, position, tokens, strict=True)
    column = [-1 if token is None else place[labels[at][order]] for at, order, token in spots]
    return _Lines(row, position, np.array(column, dtype=np.intp), output), names


def side_by_side(explanations: Sequence[Explanation]) -> Explanation:
    """Return explanations of documents as one, with a column for each token in any of them."""
    names = list(dict.fromkeys(chain.from_iterable(e.feature_names for e in explanations)))
    return Explanation.merge([of_tokens(explanation, names) for explanation in explanations])


def strongest_tokens(explanations: Iterable[Explanation], most: int) -> list[str]:
    """Return the tokens with the largest sums of sizes over all documents and outputs."""
    sizes: dict[str, float] = {}
    for explanation in explanations:
        k = _n_outputs(explanation.output_names)
        totals = np.abs(explanation.values).reshape(len(explanation), -1, k)
        for name, size in zip(explanation.feature_names, totals.sum(axis=(0, 2)), strict=True):
            sizes[name] = sizes.get(name, 0.0) + float(size)
    chosen = {*sorted(sizes, key=lambda name: -sizes[name])[:most]}
    return [name for name in sizes if name in chosen]


def of_tokens(explanation: Explanation, names: list) -> Explanation:
    """Return an explanation of documents with columns for these names, 0 where it has none."""
    place = {name: column for column, name in enumerate(names)}
    known = [column for column, name in enumerate(explanation.feature_names) if name in place]
    own = [place[explanation.feature_names[column]] for column in known]

    def wide(array: Any, nothing: float | None = 0.0) -> np.ndarray:
        whole = np.full((len(array), len(names), *array.shape[2:]), nothing, dtype=array.dtype)
        whole[:, own] = array[:, known]
        return whole

    errors, data = explanation.standard_errors, wide(explanation.data.to_numpy(dtype=object), None)
    return replace(
        explanation,
        values=wide(explanation.values),
        standard_errors=None if errors is None else wide(errors),
        data=pd.DataFrame(data, columns=names, index=explanation.index, dtype=object),
        feature_names=np.array(names, dtype=object),
        entries=None,
    )


def _n_outputs(names: Any) -> int:
    return 1 if names is None else len(names)


def _in_order(pieces: Any) -> list[int]:
    """Return the columns of a document's tokens, in the order of the document."""
    there = [column for column, piece in enumerate(pieces) if isinstance(piece, Piece)]
    return sorted(there, key=lambda column: pieces[column].place)


def _token(label: str) -> str:
    """Return a token without the number of its repetition: no token has a space in it."""
    return label.partition(" ")[0]

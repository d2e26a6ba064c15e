"""The lines of a file of explanations: their meaning and the players' numbers in them.

A table has one line per row and output, with columns for each player. Documents have one line per
row, output and token, because each document has its own tokens.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from skshapley._tables._documents import Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from skshapley._records._explanation import Explanation

KINDS = {"value": "values", "error": "standard_errors", "background": "background_errors"}


@dataclass(frozen=True, eq=False)
class Lines:
    """Positions of lines in an array of shape (r, p, k), with one entry per line.

    Attributes
    ----------
    row, output : ndarray of int
    column : ndarray of int, or None
        The token of the line; -1 in the only line of a document without tokens. None for tables.
    position : ndarray of int, or None
        The position of the token in its document, from 0.
    """

    row: np.ndarray
    output: np.ndarray
    column: np.ndarray | None = None
    position: np.ndarray | None = None


def lines_of(explanation: "Explanation") -> Lines:
    """Return the lines of an explanation."""
    k = n_outputs(explanation)
    tokens = _tokens(explanation)
    if tokens is None:
        every = np.arange(len(explanation) * k)
        return Lines(every // k, every % k)
    lengths = np.array([max(len(own), 1) for own in tokens], dtype=np.intp)
    # Each output repeats the tokens of its document; an empty document keeps one line.
    sizes = np.repeat(lengths, k)
    starts = np.cumsum(sizes) - sizes
    columns = chain.from_iterable((own or [-1]) * k for own in tokens)
    return Lines(
        row=np.repeat(np.arange(len(lengths)), lengths * k),
        output=np.repeat(np.tile(np.arange(k), len(lengths)), sizes),
        column=np.array([*columns], dtype=np.intp),
        position=np.arange(sizes.sum()) - np.repeat(starts, sizes),
    )


def _tokens(explanation: "Explanation") -> list[list[int]] | None:
    """Return the columns of each document's tokens, in its order; None for other data.

    A record without players belongs to documents without tokens.
    """
    data, numbers = explanation.data, (explanation.values, explanation.standard_errors)
    parts = (explanation.background_errors, explanation.interactions, explanation.others)
    # Lines of tokens have no columns for these numbers, so the table is written in full.
    if any(part is not None for part in parts) or any(kind.kind != "O" for kind in data.dtypes):
        return None
    cells = data.to_numpy(dtype=object)
    there = np.frompyfunc(lambda cell: isinstance(cell, Piece), 1, 1)(cells).astype(bool)
    if (cells.size and not there.any()) or any(n is not None and n[~there].any() for n in numbers):
        return None
    tokens: list[list[int]] = []
    for row, own in zip(cells, there, strict=True):
        order = sorted(np.flatnonzero(own).tolist(), key=lambda column: row[column].place)
        # Selected tokens have gaps in their order, which the short format cannot restore.
        if [row[column].place for column in order] != [*range(len(order))]:
            return None
        tokens.append(order)
    return tokens


def n_outputs(explanation: "Explanation") -> int:
    """Return the number of outputs, k."""
    return 1 if explanation.output_names is None else len(explanation.output_names)


def player_columns(explanation: "Explanation", lines: Lines) -> Iterator[tuple[str, Any]]:
    """Yield names and arrays of the numbers of players, and of the tokens."""
    r, p = explanation.values.shape[:2]
    k, names = n_outputs(explanation), explanation.feature_names
    if lines.column is None:
        for kind, attribute in KINDS.items():
            numbers = getattr(explanation, attribute)
            for player, name in enumerate(names):
                one = np.full(r * k, np.nan) if numbers is None else numbers[:, player].ravel()
                yield f"{kind}:{name}", one
        return
    there = lines.column >= 0
    place = lines.row[there], lines.column[there]
    for kind, attribute in KINDS.items():
        numbers, line = getattr(explanation, attribute), np.full(len(there), np.nan)
        if numbers is not None:
            line[there] = numbers.reshape(r, p, k)[*place, lines.output[there]]
        yield kind, line
    yield "position", lines.position
    texts = np.full((3, len(there)), None, dtype=object)
    texts[0, there] = names[place[1]]
    texts[1, there] = [name.partition(" ")[0] for name in texts[0, there]]  # without its number
    texts[2, there] = explanation.data.to_numpy(dtype=object)[place]
    for name, text in zip(("feature", "token", "piece"), texts, strict=True):
        yield name, [None if one is None else str(one) for one in text]


def table_numbers(table: "pa.Table", kind: str, names: list, k: int) -> np.ndarray:
    """Return numbers of players, ``(r, p, k)``, from the lines of a table."""
    lines = [table[f"{kind}:{name}"].to_numpy() for name in names]
    return np.moveaxis(np.array(lines).reshape(len(names), len(table) // k, k), 0, 1)


def first_lines(table: "pa.Table") -> np.ndarray:
    """Return the position of the first line of each document and output."""
    return np.flatnonzero(table["position"].to_numpy() == 0)


def some_documents(table: "pa.Table", documents: np.ndarray, k: int) -> "pa.Table":
    """Return the lines of some documents, by position."""
    starts = first_lines(table)[::k]
    stops = [*starts[1:], len(table)]
    spans = [np.arange(starts[at], stops[at]) for at in documents]
    return table.take(np.concatenate(spans) if spans else np.empty(0, dtype=np.intp))


def token_numbers(table: "pa.Table", names: list, k: int) -> tuple[dict[str, np.ndarray], Any]:
    """Return the numbers of tokens by kind, each ``(r, p, k)``, and the pieces ``(r, p)``."""
    position = table["position"].to_numpy()
    group = np.cumsum(position == 0) - 1
    place = {name: column for column, name in enumerate(names)}
    labels = table["feature"].to_pylist()
    there = np.array([label is not None for label in labels], dtype=bool)
    row, output = group[there] // k, group[there] % k
    column = np.array([place[label] for label in labels if label is not None], dtype=np.intp)
    shape = (len(np.unique(group)) // k, len(names), k)
    numbers = {kind: np.zeros(shape) for kind in KINDS}
    for kind, whole in numbers.items():
        whole[row, column, output] = table[kind].to_numpy()[there]
    data = np.full(shape[:2], None, dtype=object)
    texts = [piece for piece in table["piece"].to_pylist() if piece is not None]
    for i, j, at, piece in zip(row, column, position[there], texts, strict=True):
        data[i, j] = Piece.at(int(at), piece)
    return numbers, data

"""The tokens of documents in a file of explanations: lists, because each document has its own."""

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._records._columns import OF_TOKENS, TOKENS, Size
from skshapley._records._record import Record
from skshapley._tables._documents import Piece

if TYPE_CHECKING:
    import pyarrow as pa


def tokens_of(explanation: Record) -> list[list[int]] | None:
    """Return the columns of each document's tokens, in its order; None for other data.

    A record without players belongs to documents without tokens.
    """
    data = explanation.data
    numbers = [getattr(explanation, column.attribute) for column in OF_TOKENS]
    is_table = any(kind.kind != "O" for kind in data.dtypes)
    lists = explanation.interactions, explanation.refit_values
    if is_table or any(part is not None for part in lists):
        return None
    cells = data.to_numpy(dtype=object)
    is_token = np.frompyfunc(lambda cell: isinstance(cell, Piece), 1, 1)(cells).astype(
        bool
    )
    # numbers of absent tokens are not stored
    if (cells.size and not is_token.any()) or any(
        n is not None and n[~is_token].any() for n in numbers
    ):
        return None
    return [
        sorted(np.flatnonzero(in_row).tolist(), key=lambda column: row[column].place)
        for row, in_row in zip(cells, is_token, strict=True)
    ]


def token_columns(
    explanation: Record, size: Size, tokens: list[list[int]]
) -> Iterator[tuple[str, Any]]:
    """Yield lists with the numbers and texts of each document's tokens."""
    import pyarrow as pa

    k = size.k
    cells = explanation.data.to_numpy(dtype=object)
    names = [explanation.feature_names[players].tolist() for players in tokens]
    pieces = [cells[row, players].tolist() for row, players in enumerate(tokens)]
    lists: dict[str, list] = {
        "position": [[piece.place for piece in players] for players in pieces],
        "feature": names,
        # without the number of a repeated token
        "token": [[name.partition(" ")[0] for name in players] for players in names],
        "piece": [[str(piece) for piece in players] for players in pieces],
    }
    lists = {
        name: [players for players in column for _ in range(k)]
        for name, column in lists.items()
    }
    for column in OF_TOKENS:
        cube = column.cube(explanation, size)
        lists[column.name] = [
            cube[row, players, o]
            for row, players in enumerate(tokens)
            for o in range(k)
        ]
    for name, kind in TOKENS.items():
        element = pa.field("element", pa.type_for_alias(kind))
        yield name, pa.array(lists[name], pa.list_(element))


def read_tokens(
    table: "pa.Table", names: np.ndarray | None, k: int
) -> tuple[np.ndarray, dict[str, np.ndarray], pd.DataFrame]:
    """Return the names of tokens, their numbers by kind ``(r, p, k)``, and their pieces ``(r, p)``.

    Without names, these are the tokens in the table, in the order of first appearance.
    """
    lists = table.select([*TOKENS]).to_pydict()
    if names is None:
        names = np.array([*dict.fromkeys(chain(*lists["feature"]))], dtype=object)
    place = {name: column for column, name in enumerate(names.tolist())}
    shape = len(table) // k, len(names), k
    numbers = {column.name: np.zeros(shape) for column in OF_TOKENS}
    data = np.full(shape[:2], None, dtype=object)
    for line, features in enumerate(lists["feature"]):
        row, output = divmod(line, k)
        columns = [place[name] for name in features]
        for kind, whole in numbers.items():
            whole[row, columns, output] = lists[kind][line]
        pieces = zip(
            columns, lists["position"][line], lists["piece"][line], strict=True
        )
        for column, position, piece in pieces:
            data[row, column] = Piece.at(position, piece)
    return names, numbers, pd.DataFrame(data, columns=names, dtype=object)

"""The columns of a file of an explanation, declared once.

`COLUMNS` has the columns of numbers in the order of the file. Each knows its attribute
of the explanation, its names and types in the file, and how to write and read it. The
tokens of documents are lists, because each document has its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._records._importance import errors_of
from skshapley._records._interactions import Interactions, by_pair
from skshapley._records._outcome import Record
from skshapley._tables._documents import Piece

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Size:
    """The sizes of an explanation that determine its columns.

    Attributes
    ----------
    players : list
        Names of the players, of length p.
    k : int
        Number of outputs.
    lengths : dict
        Numbers in each element of a column of lists, by the name of the column.
    """

    players: list
    k: int
    lengths: dict[str, int]

    @classmethod
    def of(cls, explanation: Record) -> "Size":
        """Return the sizes of an explanation."""
        outputs, refits = explanation.output_names, explanation.refit_values
        lengths = {} if refits is None else {"refit": refits.shape[2]}
        k = 1 if outputs is None else len(outputs)
        return cls(list(explanation.feature_names), k, lengths)


@dataclass(frozen=True)
class Column(ABC):
    """Numbers of an explanation in a file, in one column or in one for each player.

    Attributes
    ----------
    name : str
        The name of the column, or of its kind, such as ``value`` in ``value:age``.
    attribute : str
        The attribute of the explanation.
    in_full : bool
        Whether no number is packed or missing, so that they fix the length of a file.
    repeats : bool
        Whether repeated numbers are packed.
    types : tuple of str
        Valid types of the numbers.
    is_error : bool
        Whether the numbers are standard errors.
    """

    name: str
    attribute: str
    in_full: bool = False
    repeats: bool = True
    types: tuple[str, ...] = ("double",)
    is_error: bool = False

    def names(self, size: Size) -> list[str]:
        """Return the names in the file."""
        return [self.name]

    def valid_types(self, size: Size) -> tuple[str, ...]:
        """Return the valid Arrow types of the columns, as text."""
        return self.types

    @abstractmethod
    def write(self, explanation: Record, size: Size) -> Iterator[Any]:
        """Yield the columns, with a line for each row and output."""

    @abstractmethod
    def read(self, table: "pa.Table", size: Size) -> np.ndarray:
        """Return the numbers; the last axis has the outputs."""


class OfRows(Column):
    """A number for each row, ``(r,)``."""

    def write(self, explanation: Record, size: Size) -> Iterator[np.ndarray]:
        yield np.repeat(getattr(explanation, self.attribute), size.k)

    def read(self, table: "pa.Table", size: Size) -> np.ndarray:
        return table[self.name].to_numpy()[:: size.k]


class OfLines(Column):
    """A number for each row and output, ``(r, k)``."""

    def write(self, explanation: Record, size: Size) -> Iterator[np.ndarray]:
        yield getattr(explanation, self.attribute).ravel()

    def read(self, table: "pa.Table", size: Size) -> np.ndarray:
        return table[self.name].to_numpy().reshape(-1, size.k)


class OfPlayers(Column):
    """A number for each row, player and output, ``(r, p, k)``; NaN if it is unknown."""

    def names(self, size: Size) -> list[str]:
        return [f"{self.name}:{player}" for player in size.players]

    def cube(self, explanation: Record, size: Size) -> np.ndarray:
        """Return the numbers ``(r, p, k)``."""
        numbers = errors_of(explanation, self.attribute)
        return numbers.reshape(len(numbers), len(size.players), size.k)

    def write(self, explanation: Record, size: Size) -> Iterator[np.ndarray]:
        cube = self.cube(explanation, size)
        yield from (cube[:, player].ravel() for player in range(cube.shape[1]))

    def read(self, table: "pa.Table", size: Size) -> np.ndarray:
        lines = [table[name].to_numpy() for name in self.names(size)]
        shape = len(size.players), len(table) // size.k, size.k
        return np.moveaxis(np.array(lines).reshape(shape), 0, 1)


class OfRefits(OfPlayers):
    """A list of numbers for each row, player and output, ``(r, p, b, k)``."""

    def valid_types(self, size: Size) -> tuple[str, ...]:
        return (f"fixed_size_list<element: double>[{size.lengths[self.name]}]",)

    def write(self, explanation: Record, size: Size) -> Iterator[Any]:
        b = size.lengths[self.name]
        numbers = getattr(explanation, self.attribute)
        cube = numbers.reshape(len(numbers), len(size.players), b, size.k)
        for player in range(cube.shape[1]):
            yield lists_of(np.swapaxes(cube[:, player], 1, 2).reshape(-1, b), False)

    def read(self, table: "pa.Table", size: Size) -> np.ndarray:
        b = size.lengths[self.name]
        lines = [numbers_of(table[name]) for name in self.names(size)]
        shape = len(size.players), len(table) // size.k, size.k, b
        return np.transpose(np.array(lines).reshape(shape), (1, 0, 3, 2))


class OfPairs(Column):
    """A list of numbers of all pairs of players, ``(r, pairs, k)``; unknown errors are null."""

    def valid_types(self, size: Size) -> tuple[str, ...]:
        p = len(size.players)
        return (f"fixed_size_list<element: double>[{p * (p - 1) // 2}]",)

    def write(self, explanation: Record, size: Size) -> Iterator[Any]:
        numbers = self.numbers(explanation.interactions)
        n_lines, n_pairs = len(numbers) * size.k, numbers.shape[1] // size.k
        yield lists_of(numbers.reshape(n_lines, n_pairs), nulls=True)

    def numbers(self, pairs: Interactions) -> np.ndarray:
        """Return the numbers of a record, ``(r, k pairs)``."""
        _, values, errors = by_pair(pairs)
        return errors if self.is_error else values

    def read(self, table: "pa.Table", size: Size) -> np.ndarray:
        p = len(size.players)
        shape = len(table) // size.k, size.k, p * (p - 1) // 2
        return numbers_of(table[self.name]).reshape(shape).swapaxes(1, 2)


def lists_of(lines: np.ndarray, nulls: bool) -> Any:
    """Return numbers ``(n, m)`` as an Arrow array of n lists; NaN may become null."""
    import pyarrow as pa

    m = lines.shape[1]
    kind = pa.list_(pa.field("element", pa.float64()), m)
    numbers = pa.array(lines.ravel(), from_pandas=nulls)
    return pa.FixedSizeListArray.from_arrays(numbers, m).cast(kind)


def numbers_of(lists: Any) -> np.ndarray:
    """Return the numbers in a column of lists, one list after the other."""
    flat = lists.combine_chunks().flatten()
    return flat.to_numpy(zero_copy_only=False)


COUNT = ("double", "int64")
ENDS = (
    OfLines("prediction", "predictions", in_full=True, repeats=False),
    OfLines("base_value", "base_values"),
    OfLines("others", "others"),
)
VALUES = OfPlayers("value", "values", in_full=True, repeats=False)
ERRORS = (
    OfPlayers("error", "standard_errors", is_error=True),
    OfPlayers("background", "background_errors", is_error=True),
)
REFITS = OfRefits("refit", "refit_values", in_full=True, repeats=False)
OF_PLAYERS = (VALUES, *ERRORS, REFITS)
PAIRS = (
    OfPairs("interaction", "interactions", repeats=False),
    OfPairs("interaction_error", "interactions", is_error=True),
)
COSTS = (
    OfRows("n_evaluations", "n_evaluations", types=COUNT),
    OfRows("n_model_rows", "n_model_rows", types=COUNT),
    OfRows("converged", "converged", types=("bool",)),
)
# Attributes that the header names if they are None
LACKING = [column.attribute for column in (*ERRORS, ENDS[2])]
# The columns that the first version did not have
ADDED = (REFITS,)
COLUMNS = {column.name: column for column in (*ENDS, *OF_PLAYERS, *PAIRS, *COSTS)}

# The numbers and texts of the tokens of a document, as lists
OF_TOKENS = (VALUES, *ERRORS)
TOKENS = dict.fromkeys((column.name for column in OF_TOKENS), "double")
TOKENS |= {"position": "int64"}
TOKENS |= dict.fromkeys(("feature", "token", "piece"), "string")


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

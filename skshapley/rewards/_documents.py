"""Documents: the players are the tokens of each, and an absent token is left out."""

import re
from collections.abc import Callable, Iterable
from copy import copy
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion

from skshapley._tables._inputs import column_names, is_frame
from skshapley._tables._keys import row_keys
from skshapley._tables._model_columns import first_step
from skshapley.rewards._game import Game
from skshapley.rewards._response import Response

WORDS = r"\w+(?:['’-]\w+)*"
VECTORISERS = {"CountVectorizer", "HashingVectorizer"}  # and those derived, as TfidfVectorizer is
CHUNK_TEXTS = 1024
BYTES_PER_LETTER = 64  # of a document on its way through a vectoriser


class Document:
    """A document, cut into tokens.

    Parameters
    ----------
    text : str
    token_pattern : str
        Regular expression of a token. What stands between a token and the next belongs to it.
    mask : str or None
        What takes the place of an absent token; None: it is left out.

    Attributes
    ----------
    head : str
        What stands before the first token.
    tokens : list of str
    pieces : list of str
        Each token with what follows it.
    """

    def __init__(self, text: str, token_pattern: str = WORDS, mask: str | None = None) -> None:
        found = list(re.finditer(token_pattern, text))
        self.tokens = [match.group() for match in found]
        starts = [match.start() for match in found] or [len(text)]
        ends = [*starts[1:], len(text)]
        self.head = text[: starts[0]]
        self.pieces = [text[match.start() : end] for match, end in zip(found, ends, strict=False)]
        gaps = [text[match.end() : end] for match, end in zip(found, ends, strict=False)]
        self._absent = None if mask is None else [mask + gap for gap in gaps]

    @property
    def labels(self) -> list[str]:
        """The tokens, with numbers behind repeated ones: "it", "it (2)"."""
        return numbered(self.tokens)

    def kept(self, coalitions) -> list[str]:
        """Return the document with only the tokens of each coalition ``(m, p)``."""
        rows = np.asarray(coalitions, dtype=bool).tolist()
        if self._absent is None:
            return [self.head + "".join(compress(self.pieces, row)) for row in rows]
        pairs = list(zip(self._absent, self.pieces, strict=True))
        return [
            self.head + "".join([pair[there] for pair, there in zip(pairs, row, strict=True)])
            for row in rows
        ]


def numbered(tokens: Iterable[str]) -> list[str]:
    """Return the tokens of a document, with numbers behind repeated ones: "it", "it (2)"."""
    seen: dict[str, int] = {}
    labels = []
    for token in tokens:
        seen[token] = seen.get(token, 0) + 1
        labels.append(token if seen[token] == 1 else f"{token} ({seen[token]})")
    return labels


class DocumentReward:
    """The response of a model to documents of which only some tokens are kept.

    There is no background: v(empty) is the response to a document without tokens.

    Parameters
    ----------
    response : Response
    container : callable
        Makes of a list of str what the model takes.
    """

    n_references_ = rows_per_value_ = 1
    masked_columns_ = "tokens of the documents"

    def __init__(self, response: Response, container: Callable[[list[str]], Any]) -> None:
        self.response_, self.container_ = response, container

    def __repr__(self) -> str:
        return "tokens left out"

    def learn(self, texts: list[str]) -> None:
        """Call the model on documents once, which tells its outputs."""
        self.response_.probe(self.container_(texts[:CHUNK_TEXTS]), " on documents")

    def game(self, texts: list[str]) -> "DocumentGame":
        """Return the game of some documents; the model is called on them, and on none of it."""
        documents = [Document(text) for text in texts]
        full, winners = self._called(texts, "documents")
        empty, _ = self._called([document.head for document in documents], "documents left empty")
        keys = row_keys(pd.DataFrame({"text": texts}))
        return DocumentGame(self, documents, empty, full, winners, keys)

    def _called(self, texts, what) -> tuple[np.ndarray, np.ndarray]:
        values, winners = [], []
        for start in range(0, len(texts), CHUNK_TEXTS):
            part = self.container_(texts[start : start + CHUNK_TEXTS])
            values.append(self.response_(part, f" on {what} from {start} on"))
            winners.append(self.response_.winners(part, values[-1]))
        return np.concatenate(values), np.concatenate(winners)


class DocumentGame(Game):
    """Documents, each with as many players as it has tokens.

    Parameters
    ----------
    reward : DocumentReward
    documents : list of Document
    empty, full : ndarray of shape (r, K)
        Raw responses.
    winners : ndarray of shape (r,), int
    keys : ndarray of shape (r,), uint64
    """

    def __init__(self, reward, documents, empty, full, winners, keys) -> None:
        self.shared, self.documents = reward, documents
        self._empty, self._full, self._winners, self._keys = empty, full, winners, keys
        self.n_rows = len(documents)
        self.n_players = max(1, *(len(document.tokens) for document in documents))
        self.n_outputs = reward.response_.n_outputs
        longest = max(sum(map(len, document.pieces)) for document in documents)
        self.bytes_per_row = BYTES_PER_LETTER * (longest + 16)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the values of coalitions, ``(r, m, k)``."""
        reward, (r, m, _) = self.shared, coalitions.shape
        texts: list[str] = []
        for start, stop in _runs(rows):
            document = self.documents[rows[start]]
            own = coalitions[start:stop, :, : len(document.tokens)]
            texts += document.kept(own.reshape((stop - start) * m, -1))
        raw = reward.response_(reward.container_(texts), " on parts of documents")
        winners = self._winners[np.repeat(rows, m)]
        return reward.response_.choose(raw, winners).reshape(r, m, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return the responses to the documents without their tokens, ``(r, 1, k)``."""
        return self._chosen(self._empty, rows)[:, None]

    def full(self, rows) -> NDArray[np.float64]:
        """Return the responses to the documents, ``(r, k)``."""
        return self._chosen(self._full, rows)

    def _chosen(self, raw, rows) -> NDArray[np.float64]:
        return self.shared.response_.choose(raw[rows], self._winners[rows])

    def keys(self, rows) -> NDArray[np.uint64]:
        """Return hashes of the documents."""
        return self._keys[rows]

    def active(self, rows) -> NDArray[np.bool_]:
        """Return which tokens there are, ``(r, p)``."""
        lengths = np.array([len(self.documents[row].tokens) for row in rows])
        return np.arange(self.n_players) < lengths[:, None]

    def take(self, rows) -> "DocumentGame":
        """Return the game of some documents."""
        game = copy(self)  # coalitions are as wide as the longest document of all
        game.n_rows, game.documents = len(rows), [self.documents[row] for row in rows]
        arrays = (self._empty, self._full, self._winners, self._keys)
        game._empty, game._full, game._winners, game._keys = (array[rows] for array in arrays)
        return game


def _runs(rows) -> list[tuple[int, int]]:
    """Return start and stop of each run of equal rows."""
    starts = np.flatnonzero(np.diff(rows, prepend=rows[0] - 1)).tolist()
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))


def container_for(estimator: Any, X: Any) -> Callable[[list[str]], Any]:
    """Return what makes of texts the container that the model takes, X being an example."""
    column = text_column(estimator)
    if column is not None:
        return _Framed(column)
    if isinstance(X, pd.Series):
        return _InSeries(X.name)
    return np.array if isinstance(X, np.ndarray) else list


class _Framed:
    def __init__(self, column) -> None:
        self.column = column

    def __call__(self, texts) -> pd.DataFrame:
        return pd.DataFrame({self.column: texts})


class _InSeries:
    def __init__(self, name) -> None:
        self.column = name

    def __call__(self, texts) -> pd.Series:
        return pd.Series(texts, name=self.column, dtype=object)


def column_of(container: Callable[[list[str]], Any]) -> Any:
    """Return the name of the column that a container has, or None."""
    return getattr(container, "column", None)


def begins_with_text(estimator: Any, X: Any) -> bool:
    """Return whether the model takes the one column of a table X as documents."""
    first = first_step(estimator)
    if _is_vectoriser(first):
        return True
    column = text_column(estimator)
    return column is not None and is_frame(X) and column_names(X) == [column]


def text_column(estimator: Any) -> str | None:
    """Return the column that a model vectorises as text, if it takes that one alone; else None."""
    first = first_step(estimator)
    if not isinstance(first, ColumnTransformer):
        return None
    used = [part for part in getattr(first, "transformers_", ()) if not _is_idle(part)]
    if len(used) != 1 or not isinstance(used[0][2], str) or not _is_vectoriser(used[0][1]):
        return None
    return used[0][2]


def _is_idle(part) -> bool:
    """Return whether a part of a ColumnTransformer drops its columns, or has none."""
    _, transformer, columns = part
    return transformer == "drop" or (not isinstance(columns, str) and not len(columns))


def _is_vectoriser(step: Any) -> bool:
    if isinstance(step, FeatureUnion):
        return all(_is_vectoriser(first_step(part)) for _, part in step.transformer_list)
    step = first_step(step)
    return any(kind.__name__ in VECTORISERS for kind in type(step).__mro__)

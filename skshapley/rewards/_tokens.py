"""Text: the players are the tokens of a document, and absent tokens are removed."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._outcome import Settings
from skshapley._tables import Piece, row_keys
from skshapley.explanation import Explanation
from skshapley.rewards._game import FunctionGame, InputReward
from skshapley.rewards._response import Response

WORDS = r"\w+(?:['’-]\w+)*"
CHUNK_TEXTS = 1024
BYTES_PER_LETTER = 64  # memory per character of a document in a vectoriser


class TokenReward(InputReward):
    """The model's response to a document with only some tokens kept.

    Use it as the reward of `shapley_values`, for example with a sampler for chains such
    as "local". The model is called with a list of texts, one for each of many
    coalitions. For several documents, `ShapleyExplainer` makes one of these games for
    each.

    Parameters
    ----------
    estimator : fitted estimator, or callable
        A text pipeline, such as a vectoriser and a classifier, with methods of a list
        of str. A callable takes such a list and returns ``(m,)`` or ``(m, k)``.
    document : str
    mask : str or None, default=None
        The text that replaces an absent token, such as ``"[MASK]"``. None: an absent
        token is removed, with the spaces and punctuation after it.
    response_method : str or callable, default="auto"
        As in `ShapleyExplainer`.
    output : None, "predicted" or label, default=None
        As in `ShapleyExplainer`: "predicted" is the class predicted for the whole
        document.

    Attributes
    ----------
    tokens : list of str
        The p words, in their order. The spaces and punctuation after a token belong to
        the token.
    n_players : int
        p.

    Raises
    ------
    ValueError
        If the document has no tokens, or for an invalid response method or output.
    TypeError
        If the document is not a str.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, section 2.1 (absent words replaced by padding).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.rewards import TokenReward
    >>> length = lambda texts: np.array([len(text) for text in texts])
    >>> reward = TokenReward(length, "Not bad, and not good.")
    >>> reward.tokens
    ['Not', 'bad', 'and', 'not', 'good']
    >>> shapley_values(reward, sampler="local", max_evals=40).values
    array([4., 5., 4., 4., 5.])
    """

    container: Callable[[list[str]], Any] = list

    def __init__(
        self,
        estimator,
        document,
        *,
        mask=None,
        response_method="auto",
        output=None,
    ) -> None:
        if not isinstance(document, str):
            raise TypeError(
                f"TokenReward got document={document!r}: pass one document as a str; "
                "for several documents, make a reward for each."
            )
        self._cut(document, mask)
        if not self.tokens:
            raise ValueError(
                f"TokenReward matches nothing in the document {document[:60]!r}: pass a "
                "document with words."
            )
        self.response = Response(
            estimator,
            response_method,
            output,
            owner="TokenReward",
        )
        self._winners = self.response.winners(
            [document],
            self.response.probe([document]),
        )

    def _cut(self, document: str, mask: str | None) -> None:
        """Divide the document into tokens, each with the text before the next one."""
        self._head, *parts = re.split(f"({WORDS})", document)
        self.document = document
        self.mask = mask
        self.tokens = parts[::2]
        self.n_players = len(self.tokens)
        gaps = parts[1::2]
        pairs = zip(self.tokens, gaps, strict=True)
        # a document without tokens has one empty piece
        self._pieces = [token + gap for token, gap in pairs] or [""]
        # A removed token takes the text after it along, so that no double spaces
        # remain. A mask keeps that text.
        self._absent = ["" if mask is None else mask + gap for gap in gaps] or [""]

    def texts(self, coalitions) -> list[str]:
        """Return the document with only the tokens of each coalition.

        Parameters
        ----------
        coalitions : array of shape (m, p), bool
            The present tokens.
        """
        pairs = list(zip(self._absent, self._pieces, strict=True))
        tails = [
            "".join([pair[present] for pair, present in zip(pairs, row, strict=True)])
            for row in np.asarray(coalitions, dtype=bool).tolist()
        ]
        return [self._head + tail for tail in tails]

    def __call__(self, coalitions) -> NDArray[np.float64]:
        """Return the values of coalitions ``(m, p)``; ``(m,)``, or ``(m, k)`` for k outputs."""
        raw = self.response(
            self.container(self.texts(coalitions)),
            where=" on parts of a document",
        )
        return self._without_axis(self.response.choose(raw, self._winners))

    def explanation(self, result) -> Explanation:
        """Return a result of `shapley_values` for this reward as an `Explanation`.

        It has one row. Its data are the pieces of the document, each token with the
        spaces and punctuation after it. Repeated tokens have numbers in their names.

        Parameters
        ----------
        result : ShapleyResult
        """
        return self.explained(
            result,
            self._settings(f"TokenReward(mask={self.mask!r})"),
        )

    def explained(self, result, settings: Settings, index: Any = 0) -> Explanation:
        """Return a result as an `Explanation` with given settings and label of its row.

        Parameters
        ----------
        result : ShapleyResult
        settings : Settings
        index : object, default=0
            The label.
        """
        pieces = [Piece.at(place, piece) for place, piece in enumerate(self._pieces)]
        # Text before the first token belongs to no player; it is shown with the first.
        pieces[:1] = [Piece.at(0, self._head + piece) for piece in pieces[:1]]
        data = np.empty((1, self.n_players), dtype=object)
        data[0] = pieces
        return self._record(
            result,
            pd.DataFrame(
                data,
                columns=pd.Index(numbered(self.tokens), dtype=object),
                index=[index],
                dtype=object,
            ),
            settings,
        )


class TokenGame(FunctionGame):
    """The game of a document's tokens; without tokens, it has one player with value 0.

    Parameters
    ----------
    reward : TokenReward
    """

    def __init__(self, reward: TokenReward) -> None:
        super().__init__(reward, max(1, reward.n_players))
        # Documents have different lengths, and memory for a batch follows the length.
        self.bytes_per_row = BYTES_PER_LETTER * (len(reward.document) + 16)
        self._key = row_keys(pd.DataFrame({"text": [reward.document]}))

    def keys(self, rows) -> NDArray[np.uint64]:
        """Return hashes of the document."""
        return self._key[rows]


@dataclass(eq=False, repr=False)
class DocumentReward:
    """The response of a model to documents with some of their tokens.

    There is no background: v(empty) is the response to a document without tokens.

    Parameters
    ----------
    response_ : Response
    container_ : callable
        Makes the model's input from a list of str.
    """

    response_: Response
    container_: Callable[[list[str]], Any]

    masked_columns_ = "tokens of the documents"

    def __repr__(self) -> str:
        return "tokens left out"

    def of(self, text: str) -> TokenReward:
        """Return the reward of one document, possibly without tokens."""
        # Without `__init__`, which checks the parameters and calls the model for each
        # document.
        reward = TokenReward.__new__(TokenReward)
        reward._cut(text, None)
        reward.response = self.response_
        reward.container = self.container_
        reward._winners = np.zeros(1, dtype=np.intp)
        if self.response_.predicted:
            whole = self.container_([text])
            reward._winners = self.response_.winners(whole, self.response_(whole))
        return reward


def numbered(tokens: Iterable[str]) -> list[str]:
    """Return the tokens of a document, with numbers after repeated ones: "it", "it (2)"."""
    counts: dict[str, int] = {}
    labels = []
    for token in tokens:
        counts[token] = counts.get(token, 0) + 1
        labels.append(token if counts[token] == 1 else f"{token} ({counts[token]})")
    return labels


def side_by_side(explanations: Sequence[Explanation]) -> Explanation:
    """Return explanations of documents as one, with a column for each token of any document."""
    names = list(
        dict.fromkeys(chain.from_iterable(e.feature_names for e in explanations))
    )
    return Explanation.merge(
        [of_tokens(explanation, names) for explanation in explanations]
    )


def of_tokens(explanation: Explanation, names: list) -> Explanation:
    """Return an explanation of documents with columns for these names, and 0 for missing ones."""
    place = pd.Index(names, dtype=object).get_indexer(explanation.feature_names)
    in_vocabulary = place >= 0
    positions = place[place >= 0]

    def wide(array: Any, nothing: float | None = 0.0) -> np.ndarray:
        whole = np.full(
            (len(array), len(names), *array.shape[2:]),
            nothing,
            dtype=array.dtype,
        )
        whole[:, positions] = array[:, in_vocabulary]
        return whole

    errors = explanation.standard_errors
    data = wide(explanation.data.to_numpy(dtype=object), None)
    return replace(
        explanation,
        values=wide(explanation.values),
        standard_errors=None if errors is None else wide(errors),
        data=pd.DataFrame(data, columns=names, index=explanation.index, dtype=object),
        feature_names=np.array(names, dtype=object),
    )

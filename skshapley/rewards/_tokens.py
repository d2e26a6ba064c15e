"""Text: the players are the tokens of one document."""

import re
from itertools import compress

import numpy as np
import pandas as pd

from skshapley._records._settings import Settings, label
from skshapley.explanation import Explanation
from skshapley.rewards._response import Response

WORDS = r"\w+(?:['’-]\w+)*"


class TokenReward:
    r"""What a document is worth with some of its tokens removed or masked.

    A cooperative game for `shapley_values`: give it as the reward, with a sampler on a chain, say.
    The model is called with a list of texts, many coalitions at once.

    Parameters
    ----------
    estimator : fitted estimator, or callable
        A text pipeline (a vectoriser and a classifier, say): what its response methods take is a
        list of str. A callable takes such a list and returns ``(m,)`` or ``(m, k)``.
    document : str
    token_pattern : str, default=r"\w+(?:['’-]\w+)*"
        Regular expression of a token; the default finds words, ``"."`` every character but a line
        break. What stands between a token and the next one (spaces, punctuation) belongs to it.
    mask : str or None, default=None
        None: an absent token is left out, with what stands after it. A text takes its place
        otherwise, such as ``"[MASK]"``.
    response_method : str or callable, default="auto"
        As in `ShapleyExplainer`.
    output : None, "predicted" or label, default=None
        As in `ShapleyExplainer`: "predicted" is the class predicted for the whole document.

    Attributes
    ----------
    tokens : list of str
        The p tokens, in their order.
    n_players : int
        p.

    Raises
    ------
    ValueError
        If the document has no tokens; for wrong response methods or outputs.
    TypeError
        If the document is no str.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model interpretation
    for structured data, section 2.1 (absent words replaced by padding).

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

    def __init__(
        self,
        estimator,
        document,
        *,
        token_pattern=WORDS,
        mask=None,
        response_method="auto",
        output=None,
    ):
        if not isinstance(document, str):
            raise TypeError(
                f"TokenReward takes one document as a str; got {document!r}. For several documents,"
                f" make a reward of each."
            )
        found = list(re.finditer(token_pattern, document))
        if not found:
            raise ValueError(
                f"TokenReward found no token in the document {document[:60]!r} by token_pattern="
                f"{token_pattern!r}."
            )
        self.document, self.mask = document, mask
        self.tokens = [match.group() for match in found]
        starts = [match.start() for match in found]
        ends = [*starts[1:], len(document)]
        self._head = document[: starts[0]]
        self._present = [document[start:end] for start, end in zip(starts, ends, strict=True)]
        gaps = [document[match.end() : end] for match, end in zip(found, ends, strict=True)]
        self._absent = None if mask is None else [mask + gap for gap in gaps]
        self.response = Response(estimator, response_method, output, owner="TokenReward")
        values = self.response.probe([document])
        self._winner = int(self.response.winners([document], values)[0])

    @property
    def n_players(self) -> int:
        """Number of tokens p."""
        return len(self.tokens)

    def texts(self, coalitions) -> list[str]:
        """Return the document with only the tokens of each coalition.

        Parameters
        ----------
        coalitions : array of shape (m, p), bool
            Which tokens are present.
        """
        rows = np.asarray(coalitions, dtype=bool).tolist()
        if self._absent is None:
            return [self._head + "".join(compress(self._present, row)) for row in rows]
        pieces = list(zip(self._absent, self._present, strict=True))
        return [
            self._head + "".join([pair[there] for pair, there in zip(pieces, row, strict=True)])
            for row in rows
        ]

    def __call__(self, coalitions):
        """Return the values of coalitions ``(m, p)``; ``(m,)``, or ``(m, k)`` for k outputs."""
        raw = self.response(self.texts(coalitions), where=" on parts of the document")
        values = self.response.choose(raw, self._winner)
        return values[:, 0] if self.response.output_names is None else values

    def explanation(self, result) -> Explanation:
        """Return the result of `shapley_values` on this reward as the explanation of one instance.

        Its data are the pieces of the document, each token with what stands after it; a token that
        comes again has its count in its name.

        Parameters
        ----------
        result : ShapleyResult
        """
        names = self.response.output_names
        pieces = [self._head + self._present[0], *self._present[1:]]
        labels = _different(self.tokens)
        method = self.response.method
        errors = result.standard_errors
        return Explanation(
            values=result.values[None],
            standard_errors=None if errors is None else errors[None],
            base_values=np.asarray(result.base_value)[None],
            predictions=np.asarray(result.full_value)[None],
            data=pd.DataFrame([pieces], columns=labels),
            feature_names=np.array(labels, dtype=object),
            output_names=None if names is None else np.array(names, dtype=object),
            n_evaluations=np.array([result.n_evaluations]),
            n_model_rows=np.array([result.n_evaluations]),
            converged=np.array([result.converged]),
            settings=Settings(
                model=label(self.response.estimator),
                response_method=label(method),
                output=self._explained_output(),
                reward=f"TokenReward(mask={self.mask!r})",
            ),
        )

    def _explained_output(self):
        response = self.response
        column = self._winner if response.predicted else response.column
        return None if response.names is None or column is None else response.names[column]


def _different(tokens):
    """Return the tokens, those that come again with their count: "it", "it (2)"."""
    seen: dict[str, int] = {}
    labels = []
    for token in tokens:
        seen[token] = seen.get(token, 0) + 1
        labels.append(token if seen[token] == 1 else f"{token} ({seen[token]})")
    return labels

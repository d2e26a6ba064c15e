"""Text: the players are the tokens of one document."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._settings import Settings, label
from skshapley.explanation import Explanation
from skshapley.rewards._documents import WORDS, Document
from skshapley.rewards._response import Response


class TokenReward:
    r"""The model's response to a document of which only some tokens are kept.

    Use it as the reward of `shapley_values`, for example with a sampler for chains such as "local".
    The model is called with a list of texts, one for each of many coalitions.

    Parameters
    ----------
    estimator : fitted estimator, or callable
        A text pipeline, such as a vectoriser and a classifier, whose methods take a list of str. A
        callable takes such a list and returns ``(m,)`` or ``(m, k)``.
    document : str
    token_pattern : str, default=r"\w+(?:['’-]\w+)*"
        Regular expression of a token. The default finds words; ``"."`` finds every character but
        line breaks. The spaces and punctuation between a token and the next belong to the token.
    mask : str or None, default=None
        The text that takes the place of an absent token, such as ``"[MASK]"``. None: an absent
        token is left out, with the spaces and punctuation after it.
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
        If the document has no tokens, or for an invalid response method or output.
    TypeError
        If the document is not a str.

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
    ) -> None:
        if not isinstance(document, str):
            raise TypeError(
                f"TokenReward got document={document!r}: pass one document as a str; for several"
                f" documents, make a reward for each."
            )
        self._parts = Document(document, token_pattern, mask)
        if not self._parts.tokens:
            raise ValueError(
                f"TokenReward got token_pattern={token_pattern!r}, which matches nothing in the"
                f" document {document[:60]!r}: choose a pattern of its tokens."
            )
        self.document, self.mask, self.tokens = document, mask, self._parts.tokens
        self.response = Response(estimator, response_method, output, owner="TokenReward")
        values = self.response.probe([document])
        self._winner = int(self.response.winners([document], values)[0])

    @property
    def n_players(self) -> int:
        """Return the number of tokens p."""
        return len(self.tokens)

    def texts(self, coalitions) -> list[str]:
        """Return the document with only the tokens of each coalition.

        Parameters
        ----------
        coalitions : array of shape (m, p), bool
            Which tokens are present.
        """
        return self._parts.kept(coalitions)

    def __call__(self, coalitions) -> NDArray[np.float64]:
        """Return the values of coalitions ``(m, p)``; ``(m,)``, or ``(m, k)`` for k outputs."""
        raw = self.response(self.texts(coalitions), where=" on parts of the document")
        values = self.response.choose(raw, self._winner)
        return values[:, 0] if self.response.output_names is None else values

    def explanation(self, result) -> Explanation:
        """Return a result of `shapley_values` for this reward as an `Explanation`.

        It has one instance. Its data are the pieces of the document, each token with the spaces and
        punctuation after it. Repeated tokens have numbers in their names.

        Parameters
        ----------
        result : ShapleyResult
        """
        names = self.response.output_names
        first, *others = self._parts.pieces
        pieces, labels = [self._parts.head + first, *others], self._parts.labels
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
                output=self.response.explained_output(self._winner),
                reward=f"TokenReward(mask={self.mask!r})",
            ),
        )

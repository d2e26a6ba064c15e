"""Errors that carry more than a sentence."""


class ModelOutputError(ValueError):
    """The model returned something that no attribution can be made of."""


class UnreadableModelError(ValueError):
    """A model or a response that cannot be read, and has no exact values for that.

    Parameters
    ----------
    reason : str
        The obstacle, as a clause with a subject.
    hint : str or None, default=None
        The remedy. None: choose the other response, or else sample.
    instead : str or None, default=None
        A response of the same model that can be read.
    """

    def __init__(self, reason, hint=None, instead=None) -> None:
        if hint is None and instead is not None:
            hint = f"choose response_method={instead!r}"
        hint = hint or "explain it by sampling"
        super().__init__(reason, hint, instead)
        self.reason = reason
        self.hint = hint
        self.instead = instead

    def __str__(self) -> str:
        return f"{self.reason}, so it has no exact values here: {self.hint}."


class PartialExplanationError(RuntimeError):
    """Work stopped before the last row; the error carries the finished rows.

    The error that stopped it (a KeyboardInterrupt too) is its ``__cause__``.

    Parameters
    ----------
    message : str
        Description of the error.
    explanation : Explanation or None, default=None
        The finished instances, from the first on.

    Attributes
    ----------
    explanation : Explanation
        The finished instances, from the first on.
    """

    def __init__(self, message: str, explanation=None) -> None:
        super().__init__(message, explanation)
        self.message = message
        self.explanation = explanation

    def __str__(self) -> str:
        return self.message


class BatchError(RuntimeError):
    """A batch of rows could not be explained; the batches before it are kept.

    Its ``__cause__`` is the original error.

    Parameters
    ----------
    message : str
        Description and place of the error.
    rows : ndarray of int, optional
        Positions of the batch's rows in the source.
    keys : Index, optional
        Their keys, where they have any.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the batch's rows in the source.
    keys : Index or None
        Their keys, where they have any.
    """

    def __init__(self, message: str, rows=None, keys=None) -> None:
        super().__init__(message, rows, keys)
        self.message, self.rows, self.keys = message, rows, keys

    def __str__(self) -> str:
        return self.message

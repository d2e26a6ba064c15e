"""Public exceptions."""


class ModelOutputError(ValueError):
    """Error of a model output without attributions, such as NaN or a wrong shape."""


class UnreadableModelError(ValueError):
    """Error of a model or a response without a closed form.

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
    """Error of interrupted work, with the finished rows.

    The error that stopped it (a KeyboardInterrupt too) is its ``__cause__``.

    Parameters
    ----------
    message : str
        Description of the error.
    explanation : Explanation or None, default=None
        The finished rows, from the first on.

    Attributes
    ----------
    explanation : Explanation
        The finished rows, from the first on.
    """

    def __init__(self, message: str, explanation=None) -> None:
        super().__init__(message, explanation)
        self.message = message
        self.explanation = explanation

    def __str__(self) -> str:
        return self.message


class BatchError(RuntimeError):
    """Error of a batch that could not be explained; earlier batches are kept.

    Its ``__cause__`` is the original error.

    Parameters
    ----------
    message : str
        Description and place of the error.
    rows : ndarray of int, optional
        Positions of the batch's rows in the source.
    keys : Index, optional
        Their keys, if any.

    Attributes
    ----------
    rows : ndarray of int
        Positions of the batch's rows in the source.
    keys : Index or None
        Their keys, if any.
    """

    def __init__(self, message: str, rows=None, keys=None) -> None:
        super().__init__(message, rows, keys)
        self.message = message
        self.rows = rows
        self.keys = keys

    def __str__(self) -> str:
        return self.message

"""Errors that carry more than a sentence."""


class ModelOutputError(ValueError):
    """The model returned something that no attribution can be made of."""


class PartialExplanationError(RuntimeError):
    """Work stopped before the last instance; what was finished is kept.

    The error that stopped it (a KeyboardInterrupt too) is its ``__cause__``.

    Parameters
    ----------
    message : str
        What happened.
    explanation : Explanation or None, default=None
        The finished instances, from the first on.

    Attributes
    ----------
    explanation : Explanation
        The finished instances, from the first on.
    """

    def __init__(self, message, explanation=None):
        super().__init__(message, explanation)
        self.message = message
        self.explanation = explanation

    def __str__(self):
        return self.message

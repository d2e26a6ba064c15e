"""Memory limits of a step, as a share of scikit-learn's working memory."""

import sklearn


def working_bytes(share: float = 1.0) -> float:
    """Return a share of the working memory, in bytes (``sklearn.set_config(working_memory=)``)."""
    return sklearn.get_config()["working_memory"] * 2**20 * share

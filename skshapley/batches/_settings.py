"""What an explanation's record says of how it was made, as a part's footer keeps it."""

from typing import Any

from skshapley.batches._texts import plain


def with_entropy(settings, entropy: int):
    """Return the record of a batch, with the entropy of the run that it is a part of."""
    return {**settings, "random_state": str(entropy)}


def written(settings) -> dict[str, Any]:
    """Return a record as JSON keeps it: the same in every process, so without addresses."""
    return {name: plain(value) for name, value in settings.items()}


def read(content: dict[str, Any]):
    """Return the record that was written."""
    return content

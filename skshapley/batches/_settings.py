"""What an explanation's record says of how it was made, as a part's footer keeps it."""

from dataclasses import asdict
from typing import Any

from skshapley._records._settings import Settings
from skshapley.batches._texts import plain


def written(settings: Settings) -> dict[str, Any]:
    """Return a record as JSON keeps it: the same in every process, so without addresses."""
    return {name: plain(value) for name, value in asdict(settings).items()}


def read(content: dict[str, Any]) -> Settings:
    """Return the record that was written."""
    return Settings(**content)

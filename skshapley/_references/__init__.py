"""Samples of background rows from a table: their order, and known quantities of all rows."""

from skshapley._references._deck import CHUNK, MOST_CARDS, Deck, Survey, Traits
from skshapley._references._herd import herded

__all__ = ["CHUNK", "MOST_CARDS", "Deck", "Survey", "Traits", "herded"]

"""Background rows as a sample of a table: in which order they are dealt, what is known of all."""

from skshapley._references._deck import CHUNK, Deck
from skshapley._references._survey import Survey
from skshapley._references._traits import Traits

__all__ = ["CHUNK", "Deck", "Survey", "Traits"]

"""Constraints of parameters: data beside a class, checked before the model is called."""

from skshapley._tools import Constraint, Count, Flag, Maybe, Number, OneOf

__all__ = ["Constraint", "Count", "Flag", "Maybe", "Number", "OneOf"]

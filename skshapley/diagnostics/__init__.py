"""Diagnostics: how good a design or a set of attributions is, one subject a file."""

__all__: list[str] = []

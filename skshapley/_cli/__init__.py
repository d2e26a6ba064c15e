"""The command line: ``skshapley explain``, ``status``, ``plot`` and ``report``."""

from skshapley._cli._main import main

__all__ = ["main"]

"""The command line: ``skshapley explain``, ``status`` and ``plot``."""

from skshapley._cli._main import main

__all__ = ["main"]

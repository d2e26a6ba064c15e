"""The command line: ``skshapley explain`` and ``skshapley plot``."""

from skshapley._cli._main import main

__all__ = ["main"]

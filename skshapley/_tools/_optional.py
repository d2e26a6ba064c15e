"""Packages that are not installed with this one."""

from importlib import import_module
from types import ModuleType


def needed(package: str, owner: str) -> ModuleType:
    """Return an optional package.

    Parameters
    ----------
    package : str
    owner : str
        What needs it, for the error.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{owner} needs {package}, which is not installed; install it with: pip install"
            f" {package}."
        ) from error

"""Packages that are not installed with this one."""

from importlib import import_module
from types import ModuleType


def needed(package: str, owner: str, extra: str | None = None) -> ModuleType:
    """Return an optional package.

    Parameters
    ----------
    package : str
    owner : str
        What needs it, for the error.
    extra : str, default=None
        The extra of skshapley that installs it. None: it is installed by its own name.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return import_module(package)
    except ImportError as error:
        name = package if extra is None else f'"skshapley[{extra}]"'
        raise ImportError(
            f"{owner} needs {package}, which is not installed; install it with: pip install {name}."
        ) from error

"""Exit codes of commands, and errors for invalid paths."""

from pathlib import Path

OK, FAILED, USAGE = 0, 1, 2


class UsageError(Exception):
    """The command cannot be carried out as it was given."""


def check_there(path: Path, option: str) -> None:
    """Refuse a path where there is nothing.

    Raises
    ------
    UsageError
        If there is nothing, or the path cannot even be looked at.
    """
    if not _is_there(path, option):
        raise UsageError(f"{option} {str(path)!r} does not exist.")


def check_free(path: Path, option: str, hint: str) -> None:
    """Refuse a path where there is something already.

    Raises
    ------
    UsageError
        If there is something, or the path cannot even be looked at.
    """
    if _is_there(path, option):
        raise UsageError(f"{option} {str(path)!r} exists; {hint}.")


def check_name(path: Path, option: str) -> None:
    """Refuse a path that no file can have.

    Raises
    ------
    UsageError
        If the path cannot even be looked at.
    """
    _is_there(path, option)


def _is_there(path: Path, option: str) -> bool:
    try:
        path.lstat()  # a link to nothing is there as well
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:  # too long, below a file, with a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{option} {str(path)!r} is no path that can be used: {reason}."
        ) from error
    return True

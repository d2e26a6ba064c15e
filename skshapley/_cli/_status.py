"""Exit codes of commands, and errors for invalid paths."""

from pathlib import Path

OK, FAILED, USAGE = 0, 1, 2


class UsageError(Exception):
    """The command cannot be carried out as it was given."""


def check_path(path: Path, option: str, there: bool | None = None, hint: str = "") -> None:
    """Refuse a path that cannot be used.

    Parameters
    ----------
    path : Path
    option : str
    there : bool or None, default=None
        Whether there must be something, or nothing. None: either will do.
    hint : str, default=""
        What to do if there is something.

    Raises
    ------
    UsageError
        Also if the path cannot even be looked at.
    """
    try:
        path.lstat()  # a link to nothing is there as well
    except FileNotFoundError:
        if there:
            raise UsageError(f"{option} {str(path)!r} does not exist.") from None
    except (OSError, ValueError) as error:  # too long, below a file, with a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{option} {str(path)!r} is no path that can be used: {reason}."
        ) from error
    else:
        if there is False:
            raise UsageError(f"{option} {str(path)!r} exists; {hint}.")

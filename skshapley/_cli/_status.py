"""Exit codes of commands, and errors for invalid paths."""

from pathlib import Path

# argparse itself ends with 2 for invalid arguments.
OK, FAILED, USAGE = 0, 1, 2


class UsageError(Exception):
    """Error of an invalid command."""


def check_path(
    path: Path,
    option: str,
    there: bool | None = None,
    hint: str = "",
) -> None:
    """Raise UsageError for an unusable path.

    Parameters
    ----------
    path : Path
    option : str
    there : bool or None, default=None
        Whether the path must exist or must not exist. None: either.
    hint : str, default=""
        The remedy if the path exists.

    Raises
    ------
    UsageError
        Also if the path is inaccessible.
    """
    try:
        path.lstat()  # a broken link exists as well
    except FileNotFoundError:
        if there:
            raise UsageError(
                f"{option} {str(path)!r} does not exist: give an existing path."
            ) from None
    except (OSError, ValueError) as error:  # too long, below a file, with a zero byte
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{option} {str(path)!r} is not a valid path: {reason}."
        ) from error
    else:
        if there is False:
            raise UsageError(f"{option} {str(path)!r} exists; {hint}.")

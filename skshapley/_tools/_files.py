"""Complete writing of files: a file is whole or absent."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


class DamagedFileError(OSError, ValueError):
    """The content of a file differs from the content that was written.

    Parameters
    ----------
    path : Path
    why : object
        The reason, such as another error.
    """

    def __init__(self, path: Path, why: object) -> None:
        super().__init__(
            f"{str(path)!r} is damaged or was not written by skshapley: "
            f"{str(why).rstrip('.')}; restore it, or save it again."
        )


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file completely or not at all, even if the process or the machine stops.

    Parameters
    ----------
    path : Path
    write : callable
        Takes the open binary file.
    """
    draft = path.with_name(
        f".{path.name}.tmp"
    )  # readers of Parquet folders ignore dots
    draft.unlink(
        missing_ok=True
    )  # left by a dead process, or a link, which must not be followed
    with draft.open("xb") as file:
        write(file)
        file.flush()
        # Without it, a power failure could leave the new name with an empty file. It
        # takes 2.5 ms.
        os.fsync(file.fileno())
    os.replace(draft, path)
    if os.name == "posix":  # the new name is on disk after its folder is synced
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

"""Complete writing of files: a file is whole or absent."""

import os
from collections.abc import Callable
from contextlib import suppress
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


class UnwrittenFileError(OSError):
    """A file could not be written; an earlier file of the same name is kept.

    Parameters
    ----------
    path : Path
    why : OSError
    """

    def __init__(self, path: Path, why: OSError) -> None:
        super().__init__(why.errno, why.strerror or str(why))
        self.path = path
        self.why = why

    def __reduce__(self) -> tuple:
        return type(self), (self.path, self.why)

    def __str__(self) -> str:
        folder = str(self.path.absolute().parent)
        return (
            f"{self.path.name!r} cannot be written into {folder!r}: {self.strerror}. "
            "An earlier file of that name is kept. Free space or restore the folder and "
            "repeat the call, or choose another folder."
        )


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file completely or not at all, even if the process or the machine stops.

    The content is written into a hidden file beside it, which is then renamed.

    Parameters
    ----------
    path : Path
    write : callable
        Takes the open binary file.

    Raises
    ------
    UnwrittenFileError
        For a full disk, or a folder that is missing or protected.
    """
    # readers of Parquet folders ignore names that begin with a dot
    draft = path.with_name(f".{path.name}.tmp")
    try:
        try:
            # left by a dead process, or a link, which must not be followed
            draft.unlink(missing_ok=True)
            with draft.open("xb") as file:
                write(file)
                file.flush()
                # Without it, a power failure could leave the new name with an empty
                # file. It takes 2.5 ms.
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            with suppress(OSError):  # the folder is gone, too
                draft.unlink(missing_ok=True)
            raise
        if os.name == "posix":  # the new name is on disk after its folder is synced
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise UnwrittenFileError(path, error) from error

"""Files that are whole or not there, and folders that one process works on at a time."""

import json
import os
import sqlite3
from contextlib import contextmanager
from pathlib import Path


def write_whole(path: Path, write) -> None:
    """Write a file so that, whenever the process or the machine dies, all of it is there or none.

    Parameters
    ----------
    path : Path
    write : callable
        Takes the open binary file.
    """
    draft = path.with_name(f".{path.name}.tmp")  # readers of Parquet folders pass over dots
    with draft.open("wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
    if os.name == "posix":  # the new name is on the disk once its folder is
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_json(path: Path, content) -> None:
    """Write JSON that people can read, whole."""
    text = json.dumps(content, indent=1, ensure_ascii=False, default=str)
    write_whole(path, lambda file: file.write(text.encode("utf-8", "backslashreplace")))


def read_json(path: Path):
    """Return the content of a JSON file, or None where there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def need_pyarrow() -> None:
    """Refuse to go on without pyarrow, and say how to get it."""
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Parquet needs pyarrow; install it with: pip install 'skshapley[parquet]'."
        ) from error


@contextmanager
def locked(folder: Path):
    """Hold a folder for this process alone.

    SQLite's lock works on every system, and the operating system lifts it when the process dies,
    however it dies; a file that merely exists would stay.

    Raises
    ------
    BlockingIOError
        If another run holds it.
    """
    lock = sqlite3.connect(folder / "_lock", timeout=0, isolation_level=None)
    try:
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise BlockingIOError(
                f"explain_batches got out={str(folder)!r}, which another run is writing to; wait"
                f" for it, or choose another folder."
            ) from error
        yield
    finally:
        lock.close()

"""Files that are whole or not there and show damage, and folders that one process works on."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

SEAL_BYTES = 16
BLANK_SEAL = "0" * 2 * SEAL_BYTES
_OPENING = b'"seal": "'


class DamagedFileError(OSError):
    """A file does not hold what was written."""

    def __init__(
        self, path: Path, hint: str = "restore it, or have explain_batches make it anew"
    ) -> None:
        super().__init__(
            f"{str(path)!r} is damaged: it is not as this version of skshapley wrote it; {hint}."
        )


def sealed(data: bytes) -> bytes:
    """Return the bytes with their hash in the place of the blank seal, the last of them.

    The hash is taken with a blank seal, and so of all other bytes: ``{"a": 1, "seal": "000..."}``
    becomes ``{"a": 1, "seal": "5f3..."}``, be it a file of JSON or the footer of a Parquet file.
    """
    start, stop = _seal_place(data)
    return data[:start] + _hash_but_seal(data) + data[stop:]


def seal_of(data: bytes) -> str:
    """Return the hash in sealed bytes."""
    start, stop = _seal_place(data)
    return data[start:stop].decode()


def is_sealed(data: bytes) -> bool:
    """Return whether the bytes are those that were sealed."""
    start, stop = _seal_place(data)
    return data[start:stop] == _hash_but_seal(data)


def _seal_place(data: bytes) -> tuple[int, int]:
    start = data.rfind(_OPENING) + len(_OPENING)
    return start, start + len(BLANK_SEAL)


def _hash_but_seal(data: bytes) -> bytes:
    (start, stop), view = _seal_place(data), memoryview(data)
    state = blake2b(view[:start], digest_size=SEAL_BYTES)
    state.update(BLANK_SEAL.encode())
    state.update(view[stop:])
    return state.hexdigest().encode()


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file so that, whenever the process or the machine dies, all of it is there or none.

    Parameters
    ----------
    path : Path
    write : callable
        Takes the open binary file.
    """
    draft = path.with_name(f".{path.name}.tmp")  # readers of Parquet folders pass over dots
    draft.unlink(missing_ok=True)  # of a process that died, or a link, never to be written through
    with draft.open("xb") as file:
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


def write_json(path: Path, content: dict) -> None:
    """Write JSON that people can read, whole and sealed."""
    text = json.dumps({**content, "seal": BLANK_SEAL}, indent=1, ensure_ascii=False, default=str)
    data = sealed(text.encode("utf-8", "backslashreplace"))
    write_whole(path, lambda file: file.write(data))


def read_json(path: Path) -> dict | None:
    """Return the content of a JSON file, or None where there is no such file.

    Raises
    ------
    DamagedFileError
        If it is not what `write_json` wrote.
    """
    try:
        content = json.loads(read_sealed(path))
    except FileNotFoundError:
        return None
    del content["seal"]
    return content


def read_sealed(path: Path) -> bytes:
    """Return the bytes of a sealed file.

    Raises
    ------
    DamagedFileError
        If they are not those that were written.
    """
    data = path.read_bytes()
    if not is_sealed(data):
        raise DamagedFileError(path)
    return data


def need_pyarrow() -> None:
    """Refuse to go on without pyarrow, and say how to get it."""
    try:
        import pyarrow as pa  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "Parquet needs pyarrow; install it with: pip install 'skshapley[parquet]'."
        ) from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone.

    The operating system lifts the lock when the process dies, however it dies; a file that merely
    exists would stay. Processes that were forked from it do not keep the lock.

    Raises
    ------
    BlockingIOError
        If another run holds it.
    OSError
        If it cannot be locked, for want of room or of rights, or since ``_lock`` is no plain file.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ImportError(
            "A folder of results needs filelock; install it with: pip install 'skshapley[parquet]'."
        ) from error
    lock = FileLock(folder / "_lock", blocking=False, fallback_to_soft=False)
    try:
        held = lock.acquire()
    except Timeout as error:
        raise BlockingIOError(
            f"explain_batches got out={str(folder)!r}, which another run is writing to; wait for"
            f" it, or choose another folder."
        ) from error
    except OSError as error:
        raise OSError(
            f"explain_batches got out={str(folder)!r}, whose file _lock cannot be locked: {error}."
            f" Make room or remove it, or choose another folder."
        ) from error
    with held:
        yield

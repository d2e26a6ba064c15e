"""The names of the files in a folder of results."""

import re
from pathlib import Path

MANIFEST = "_manifest.json"
PAIRS = "_interactions"
_NUMBER = r"\d{8}|[1-9]\d{8,}"  # as the names below write it
_NAMES = {
    "part": (re.compile(rf"part-({_NUMBER})\.parquet"), "part-{:08d}.parquet"),
    "skipped": (re.compile(rf"_skipped-({_NUMBER})\.json"), "_skipped-{:08d}.json"),
}


def part(folder: Path, number: int) -> Path:
    """Return where the explanations of a batch are."""
    return folder / _NAMES["part"][1].format(number)


def pairs(part: Path) -> Path:
    """Return where the interactions of a part are."""
    return part.parent / PAIRS / part.name


def skipped(folder: Path, number: int) -> Path:
    """Return where the list of the rows of a batch is that were set aside."""
    return folder / _NAMES["skipped"][1].format(number)


def parts(folder: Path) -> list[int]:
    """Return the numbers of the batches that have a part."""
    return _numbers(folder, "part")


def lists(folder: Path) -> list[int]:
    """Return the numbers of the batches that have a list of skipped rows."""
    return _numbers(folder, "skipped")


def strangers(folder: Path) -> list[str]:
    """Return the files of a folder without a manifest that are none of ours.

    Those that begin with a dot or an underscore are passed over, as readers of Parquet do, but for
    what looks like a list of skipped rows.
    """
    names = (path.name for path in folder.iterdir())
    pattern = _NAMES["skipped"][0]
    return sorted(name for name in names if name[0] not in "._" or pattern.fullmatch(name))


def _numbers(folder: Path, kind: str) -> list[int]:
    found = (_NAMES[kind][0].fullmatch(path.name) for path in folder.iterdir())
    return sorted(int(match[1]) for match in found if match)

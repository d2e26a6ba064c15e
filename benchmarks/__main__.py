"""Run one benchmark, and record where its results come from.

    python -m benchmarks SUBJECT [options of the subject]
    python -m benchmarks                 # list the subjects

``make bench-SUBJECT ARGS="..."`` does the same. Each file of ``doc/results`` that a run
writes gets a line in ``doc/results/index.csv``: command, commit, machine and date.
"""

import ast
import csv
import os
import platform
import shlex
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

BENCHMARKS = Path(__file__).parent
RESULTS = BENCHMARKS.parent / "doc" / "results"
INDEX = RESULTS / "index.csv"
COLUMNS = ("file", "command", "commit", "machine", "date")
NOT_SUBJECTS = {"__init__", "__main__", "__pycache__", "output"}


def subjects() -> dict[str, str]:
    """Return the first line of the docstring of each subject."""
    titles = {}
    for path in sorted(BENCHMARKS.iterdir()):
        if path.stem in NOT_SUBJECTS or path.name.startswith("."):
            continue
        source = path / "__main__.py" if path.is_dir() else path
        if source.suffix != ".py" or not source.exists():
            continue
        docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8")))
        titles[path.stem] = docstring.partition("\n")[0]
    return titles


def machine() -> str:
    """Describe the machine as far as it matters to times."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores {platform.machine()}, {memory:.0f} GiB"


def commit() -> str:
    """Return the short hash of the checkout, with "+" if files are changed."""
    git = ["git", "-C", str(BENCHMARKS)]
    head = subprocess.run(
        [*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True
    )
    changes = subprocess.run(
        [*git, "status", "--porcelain", "--untracked-files=no", "--", "skshapley"],
        check=True,
        capture_output=True,
        cwd=BENCHMARKS.parent,
    )
    return head.stdout.decode().strip() + "+" * bool(changes.stdout)


def record(files: list[Path], command: str) -> None:
    """Write the origin of some files of results into the index."""
    with INDEX.open(newline="", encoding="utf-8") as stream:
        lines = {line["file"]: line for line in csv.DictReader(stream)}
    for path in files:
        name = path.relative_to(RESULTS).as_posix()
        origin = (name, command, commit(), machine(), date.today().isoformat())
        lines[name] = dict(zip(COLUMNS, origin, strict=True))
    with INDEX.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines[name] for name in sorted(lines))


def main() -> int:
    """Run a subject with its options."""
    titles = subjects()
    subject, *options = sys.argv[1:] or [""]
    subject = subject.replace("-", "_")
    if subject not in titles:
        width = max(map(len, titles))
        for name, title in titles.items():
            print(f"{name:{width}}  {title}")
        return int(bool(subject))
    start = time.time()
    run = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{subject}", *options], check=False
    )
    written = [
        path
        for path in sorted(RESULTS.rglob("*"))
        if path.is_file() and path != INDEX and path.stat().st_mtime >= start
    ]
    command = shlex.join(["make", f"bench-{subject.replace('_', '-')}"])
    if options:
        command += f" ARGS={shlex.quote(shlex.join(options))}"
    record(written, command)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())

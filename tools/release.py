"""Make a release: version, changelog and citation in one commit, a tag, and the archives.

    make release VERSION=0.2.0            # checks, writes, commits, builds and tests, tags
    make release VERSION=0.2.0 DRY_RUN=1  # shows what the changelog would say, and writes nothing
    make release DRY_RUN=1                # the same, for the version of the package

Nothing leaves the machine: the commands that push and upload are printed at the end.
"""

import argparse
import datetime as dt
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"\d+\.\d+\.\d+")
MARKER = "<!-- towncrier: new releases go below this line -->\n"


class ReleaseError(Exception):
    """A release that cannot be made; nothing has been written."""


def said_by(root, *command):
    """Return the output of a command."""
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ReleaseError(
            f"{' '.join(map(str, command))} failed:\n{done.stderr}{done.stdout}"
        )
    return done.stdout


def number(version):
    """Return a version as numbers, which compare."""
    return tuple(map(int, version.split(".")))


def checked(root, version):
    """Raise ReleaseError for an invalid, old or existing version, or a tree with changes."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"VERSION={version} is not of the form 1.2.3")
    current = read(root, "skshapley/__init__.py", r'__version__ = "(.*)"')
    if number(version) < number(current):
        raise ReleaseError(
            f"VERSION={version} is older than {current}, which stands in the package"
        )
    if f"v{version}" in said_by(root, "git", "tag").split():
        raise ReleaseError(f"the tag v{version} is there: choose the next version")
    if changes := said_by(root, "git", "status", "--porcelain"):
        raise ReleaseError(f"the tree has changes; commit them first:\n{changes}")


def fragments(root):
    """Return the files of changelog.d that a release gathers."""
    folder = root / "changelog.d"
    return sorted(path for path in folder.glob("*.md") if path.name[0].isdigit())


def gathered(root):
    """Return the text of the fragments, under headings by kind."""
    if not fragments(root):
        return ""
    draft = said_by(
        root, sys.executable, "-m", "towncrier", "build", "--draft", "--version", "0"
    )
    return draft[draft.index("\n### ") :].strip() + "\n"


def changelog(text, version, date, news):
    """Return the changelog with a release.

    A section that was written by hand, headed "(unreleased)", comes before what the
    fragments say.
    """
    head = re.escape(f"## {version} (unreleased)\n")
    written = re.search(
        head + r"(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE
    )
    if written is None and not news:
        raise ReleaseError("changelog.d has no fragments: there is nothing to release")
    body = "\n\n".join(filter(None, [written and written[1].strip(), news.strip()]))
    section = f"## {version} ({date})\n\n{body}\n\n"
    if written is not None:
        return text[: written.start()] + section + text[written.end() :]
    before, after = text.split(MARKER)
    return f"{before}{MARKER}\n{section}{after.lstrip()}"


def read(root, name, pattern):
    """Return the match of a pattern's group in a file."""
    return re.search(pattern, (root / name).read_text("utf-8"))[1]


def replaced(root, name, pattern, text):
    """Put a text where the only match of a pattern is."""
    path = root / name
    found, n = re.subn(pattern, text, path.read_text("utf-8"), flags=re.MULTILINE)
    assert n == 1, f"{name} has {n} places like {pattern}"
    path.write_text(found, "utf-8")


def release(root, version, *, dry_run=False, build=("make", "dist")):
    """Make a release of the repository at `root`; return its changelog."""
    checked(root, version)
    date = dt.datetime.now(dt.UTC).date().isoformat()
    log = root / "CHANGELOG.md"
    text = changelog(log.read_text("utf-8"), version, date, gathered(root))
    section = text[text.index(f"## {version} (") :].split("\n## ")[0]
    if dry_run:
        return section
    log.write_text(text, "utf-8")
    for path in fragments(root):
        path.unlink()
    replaced(
        root,
        "skshapley/__init__.py",
        r'^__version__ = ".*"$',
        f'__version__ = "{version}"',
    )
    replaced(root, "CITATION.cff", r"^version: .*$", f"version: {version}")
    replaced(root, "CITATION.cff", r"^date-released: .*$", f"date-released: {date}")
    said_by(root, "git", "commit", "--all", "--message", f"Release {version}")
    # what fails here leaves a commit and no tag: `git reset --hard HEAD~1` undoes it
    subprocess.run(build, cwd=root, check=True)
    said_by(
        root,
        "git",
        "tag",
        "--annotate",
        f"v{version}",
        "--message",
        f"skshapley {version}",
    )
    return section


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Make a release; nothing leaves the machine."
    )
    current = read(ROOT, "skshapley/__init__.py", r'__version__ = "(.*)"')
    parser.add_argument("version", nargs="?", default=current)
    parser.add_argument("--dry-run", action="store_true")
    given = parser.parse_args(arguments)
    try:
        print(release(ROOT, given.version, dry_run=given.dry_run))
    except ReleaseError as error:
        sys.exit(f"No release: {error}")
    if not given.dry_run:
        print(
            "Now: git push --follow-tags; the tag starts .github/workflows/release.yml"
        )


if __name__ == "__main__":
    main()

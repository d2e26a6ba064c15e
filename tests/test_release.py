"""`make release` and `make dist`: output, refusals and calls."""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from runpy import run_path

import pytest

import skshapley

ROOT = Path(__file__).parents[1]
FILES = ["pyproject.toml", "CITATION.cff", "CHANGELOG.md", "skshapley/__init__.py"]
FOLDER = ["changelog.d/README.md", "changelog.d/_template.md.jinja"]
NEXT = "99.0.0"

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None, reason="releases are tags of git"
)
MADE = run_path(str(ROOT / "tools" / "release.py"))
release, ReleaseError = MADE["release"], MADE["ReleaseError"]


def git(root, *arguments):
    run = subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    )
    return run.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    """A repository of the files that a release touches, with two fragments."""
    pytest.importorskip("towncrier")
    for name in (*FILES, *FOLDER):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "changelog.d" / "7.pears.feature.md").write_text("Pears are counted.\n")
    (tmp_path / "changelog.d" / "8.plums.fix.md").write_text(
        "Plums no longer fall twice.\n"
    )
    git(tmp_path, "init", "--quiet")
    for name, value in (
        ("name", "A"),
        ("email", "a@example.org"),
        ("gpgsign", "false"),
    ):
        git(
            tmp_path,
            "config",
            f"{'commit' if name == 'gpgsign' else 'user'}.{name}",
            value,
        )
    committed(tmp_path)
    return tmp_path


def committed(root):
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A change")


def test_a_release_is_a_commit_and_a_tag(repository):
    shown = release(repository, NEXT, build=("git", "log", "-1"))
    assert git(repository, "status", "--porcelain") == ""
    assert git(repository, "log", "-1", "--format=%s") == f"Release {NEXT}"
    assert git(repository, "describe", "--exact-match") == f"v{NEXT}"
    text = (repository / "CHANGELOG.md").read_text()
    assert shown in text
    assert re.match(rf"## {NEXT} \(\d{{4}}-\d\d-\d\d\)\n", shown)
    assert text.index(shown) < text.index("## 0.1.0")
    assert "### New\n\n- Pears are counted. (#7)" in shown
    assert "### Fixed\n\n- Plums no longer fall twice. (#8)" in shown
    assert [path.name for path in (repository / "changelog.d").glob("*.md")] == [
        "README.md"
    ]
    assert (
        f'__version__ = "{NEXT}"' in (repository / "skshapley/__init__.py").read_text()
    )
    assert f"\nversion: {NEXT}\n" in (repository / "CITATION.cff").read_text()


def test_a_section_written_by_hand_gets_its_date_and_the_fragments(repository):
    log = repository / "CHANGELOG.md"
    marker = MADE["MARKER"]
    log.write_text(
        f"{marker}\n## {NEXT} (unreleased)\n\nBy hand.\n\n## 0.0.1 "
        f"(2020-01-01)\n\nOld.\n"
    )
    committed(repository)
    release(repository, NEXT, build=("git", "log", "-1"))
    found = re.sub(r"\d{4}-\d\d-\d\d", "D", log.read_text())
    body = "### New\n\n- Pears are counted. (#7)\n\n### Fixed\n\n- Plums no longer fall twice. (#8)"
    assert (
        found
        == f"{marker}\n## {NEXT} (D)\n\nBy hand.\n\n{body}\n\n## 0.0.1 (D)\n\nOld.\n"
    )


def test_a_dry_run_writes_nothing(repository):
    before = git(repository, "rev-parse", "HEAD")
    assert "Pears are counted" in release(repository, NEXT, dry_run=True)
    assert git(repository, "status", "--porcelain") == git(repository, "tag") == ""
    assert git(repository, "rev-parse", "HEAD") == before


def test_failed_builds_are_not_tagged(repository):
    with pytest.raises(subprocess.CalledProcessError):
        release(repository, NEXT, build=("git", "no-such-command"))
    assert git(repository, "tag") == ""


def spoilt(root):
    (root / "CHANGELOG.md").write_text("lost")


def tagged(root):
    git(root, "tag", f"v{NEXT}")


def without_fragments(root):
    for path in (root / "changelog.d").glob("[0-9]*"):
        path.unlink()
    committed(root)


REFUSED = {
    "form": ("1.2", None, r"VERSION=1\.2 is not of the form 1\.2\.3"),
    "old": ("0.0.1", None, f"older than {re.escape(skshapley.__version__)}"),
    "taken": (NEXT, tagged, f"the tag v{NEXT} is there"),
    "changes": (NEXT, spoilt, "the tree has changes.*\n M CHANGELOG"),
    "nothing": (NEXT, without_fragments, "there is nothing to release"),
}


@pytest.mark.parametrize(
    ("version", "change", "message"), REFUSED.values(), ids=REFUSED
)
def test_invalid_releases_are_refused_before_anything_is_written(
    version, change, message, repository
):
    if change is not None:
        change(repository)
    before = {name: (repository / name).read_bytes() for name in FILES}
    with pytest.raises(ReleaseError, match=message):
        release(repository, version)
    assert before == {name: (repository / name).read_bytes() for name in FILES}


def test_the_citation_names_the_version_and_the_licence():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"\nversion: {skshapley.__version__}\n" in text
    assert f"\nlicense: {project['license']}\n" in text


def test_hosted_jobs_run_targets_of_the_makefile():
    """Targets of the Makefile, on every Python version that the project declares."""
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    jobs = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    called = {
        name for line in re.findall(r"run: make (.*)", jobs) for name in line.split()
    }
    assert called <= targets, f"the Makefile has no {sorted(called - targets)}"
    assert {"lint", "type", "test", "test-slow", "doc", "dist"} <= called
    assert {"test-oldest", "test-newest"} <= called
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    versions = re.findall(r'"(3\.\d+)"', jobs)
    assert versions[0] == oldest
    assert {"3.12", "3.13"} <= {*versions}

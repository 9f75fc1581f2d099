"""What the documents name is there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("demos/**/*.md")],
    key=str,
)
# Of programs in examples, of the system's, and made by a build.
NOT_OURS = {"prog.c", "x.c", "x.h", "FILE.c", "turns.adb", "mpi.h", "mpif.h", "nan.f90"}
NOT_OURS |= {".../python3.11-gdb.py", "opal/runtime/opal_progress.h"}


def tracked() -> set[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_are_named_exist(page: Path) -> None:
    if page.name == "CHANGELOG.md":  # tells of what was
        return
    files = tracked()
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    for words in re.findall(r"`([^`\n]+)`", text):
        for name in re.findall(r"(?<![\w*./-])([\w./-]+\.(?:c|h|S|def|py))(?![\w*.])", words):
            if name in NOT_OURS or name.startswith(("/", "http")):
                continue
            assert any(file == name or file.endswith("/" + name) for file in files), name

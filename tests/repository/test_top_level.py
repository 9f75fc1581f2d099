"""What lies at the top of the repository is meant to lie there."""

from __future__ import annotations

from test_docs import tracked

FOLDERS = {".ci", "bench", "demos", "docs", "gdb_scripts", "interposer", "rdb", "tests", "tools"}
FILES = {
    ".clang-format",
    ".clang-tidy",
    ".gitignore",
    ".pre-commit-config.yaml",
    "LICENSE",
    "Makefile",
}
FILES |= {"ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"}
FILES |= {"meson.build", "pyproject.toml"}


def test_nothing_was_added_by_mistake() -> None:
    top = {name.partition("/")[0] for name in tracked() if name}
    assert top <= FOLDERS | FILES

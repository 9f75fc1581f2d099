"""A name that a program's files have not is refused; one that they may have is looked for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rdb.recording.symbols.named import files_lack

_SOURCE = "static int inner_one = 3; int outer(int local_one) { return inner_one += local_one; }\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("named") / "lib.c"
    path.write_text(_SOURCE)
    return path


def _made(source: Path, *options: str) -> Path:
    made = source.with_name(f"lib{len(list(source.parent.iterdir()))}.so")
    command = ["gcc", "-shared", "-fPIC", "-Wl,--build-id", *options, "-o", made.name, source.name]
    subprocess.run(command, check=True, cwd=source.parent)
    return made


def _lacks(path: Path, name: str) -> bool:
    return files_lack({str(path): path}, path.parent / "none", name)


def test_macros_are_names(source: Path) -> None:
    made = _made(source, "-g3", "-DLIMIT=10")
    assert not _lacks(made, "LIMIT") and _lacks(made, "nosuch")


@pytest.mark.parametrize("options", [("-g",), ("-g", "-gz=zlib"), ()])
def test_names_of_a_file(source: Path, options: tuple[str, ...]) -> None:
    made = _made(source, *options)
    assert _lacks(made, "nosuch") and _lacks(made, "ner_on")
    assert not _lacks(made, "outer") and not _lacks(made, "lib::OUTER")
    assert _lacks(made, "local_one") == (not options)
    assert not files_lack({"here": made, "gone": None}, source.parent, "nosuch")


def test_names_that_are_in_other_files(source: Path, tmp_path: Path) -> None:
    assert not _lacks(_made(source, "-g", "-gsplit-dwarf"), "nosuch")
    # Detached, as it comes with a pack: found by the build id.
    whole = _made(source, "-g")
    bare = Path(shutil.copy(whole, tmp_path / "bare.so"))
    subprocess.run(["strip", "-g", bare], check=True)
    assert _lacks(bare, "local_one")
    notes = subprocess.run(["readelf", "-n", bare], check=True, capture_output=True, text=True)
    identity = notes.stdout.partition("Build ID: ")[2].split()[0]
    kept = tmp_path / "symbols" / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
    kept.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", whole, kept], check=True)
    assert not files_lack({"bare.so": bare}, tmp_path / "symbols", "local_one")
    assert files_lack({"bare.so": bare}, tmp_path / "symbols", "nosuch")


def test_what_is_no_binary_has_no_names(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"nosuch\0" * 100)
    assert _lacks(path, "nosuch")

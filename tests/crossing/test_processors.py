"""What a replica carries out itself is what the processor does, on this one and on emulated ones.

`make test-cpus` runs the program on processors of Intel and AMD that qemu-user emulates.  rdb as a
whole needs Syscall User Dispatch or a filter of system calls, which qemu-user does not have.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PROGRAMS

from rdb.paths import rdb_exec_path

CORE = PROGRAMS.parents[1] / "interposer"
PARTS = [CORE / "arch/x86_64/text" / name for name in ("alu.c", "shift_forms.S")]
# Without XSAVE (before 2011) nothing of rdb runs; the arithmetic does.
MODELS = [
    "qemu64",
    "Opteron_G1",
    "Opteron_G5",
    "EPYC",
    "EPYC-Rome",
    "EPYC-Milan",
    "Dhyana",
    "core2duo",
    "Nehalem",
    "SandyBridge",
    "Haswell",
    "Skylake-Client",
    "Skylake-Server",
    "Cascadelake-Server",
    "Icelake-Server",
    "Denverton",
    "max",
]


@pytest.fixture(scope="module")
def forms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("forms") / "alu_forms"
    source = PROGRAMS / "alu_forms.c"
    subprocess.run(["gcc", "-O1", "-Wall", f"-I{CORE}", source, *PARTS, "-o", out], check=True)
    return out


def test_shifts_on_this_processor(forms: Path) -> None:
    done = subprocess.run([forms], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "689472 compared, 0 differ\n")


@pytest.mark.cpus
@pytest.mark.parametrize("model", MODELS)
def test_shifts_on_other_processors(forms: Path, model: str) -> None:
    assert shutil.which("qemu-x86_64"), "qemu-user is what `make test-cpus` installs"
    line = ["qemu-x86_64", "-cpu", model, forms]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "689472 compared, 0 differ\n"), done.stderr


@pytest.mark.cpus
@pytest.mark.parametrize(
    ("model", "lacking"),
    [("qemu64", "SSE4.2 and POPCNT"), ("core2duo", "SSE4.2 and POPCNT"), ("Nehalem", "AVX")],
)
@pytest.mark.parametrize("arguments", [["--probe"], ["/bin/true"]])
def test_a_processor_that_is_too_old(model: str, lacking: str, arguments: list[str]) -> None:
    line = ["qemu-x86_64", "-cpu", model, rdb_exec_path(), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    said = f"this processor, or the virtual machine, has no {lacking}: "
    assert done.stderr.splitlines()[-1].startswith(f"rdb: {said}"), done.stderr


@pytest.mark.cpus
@pytest.mark.parametrize("arguments", [["--probe"], ["/bin/true"]])
def test_a_processor_without_fsgsbase_where_they_cannot_be_emulated(arguments: list[str]) -> None:
    """qemu-user puts rdb-exec among the program's addresses."""
    line = ["qemu-x86_64", "-cpu", "SandyBridge", rdb_exec_path(), *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 125
    said = done.stderr.splitlines()[-1]
    assert said.startswith(
        "rdb: this processor has no FSGSBASE instructions, and rdb cannot emulate them: "
    )


@pytest.mark.cpus
def test_what_qemu_lacks_for_all_of_rdb() -> None:
    line = ["qemu-x86_64", "-cpu", "max", rdb_exec_path(), "--probe"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert not said["sud"] and not said["seccomp"], "it can run rdb: let it"

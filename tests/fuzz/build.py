"""Building and running the fuzz targets: with clang's libFuzzer where it is, else with mutate.c."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import deadlines

HERE = Path(__file__).parent
LOWER = HERE.parent.parent / "interposer"
#: Target -> the sources under test.
TARGETS = {
    "log": ("log/log_index.c", "log/log_reader.c", "log/log_segments.c"),
    "image": ("image/image_file.c",),
    "hca": tuple(f"verbs/soft/{path.name}" for path in sorted((LOWER / "verbs/soft").glob("*.c"))),
}
_LIBRARIES = {"hca": ("-lsodium", "-lpthread")}
_FLAGS = "-g -O1 -std=gnu17 -D_GNU_SOURCE -msse4.2 -mfsgsbase -fno-strict-aliasing"
_MAKE_ROOM_S = 60


@dataclass(frozen=True)
class Fuzzer:
    program: Path
    guided: bool  # by coverage

    def run(self, seeds: list[Path], seconds: float, seed: int, folder: Path) -> str:
        """Runs in `folder`, where a crashing input is left.  Returns what it said."""
        if self.guided:
            corpus = folder / "corpus"
            corpus.mkdir(exist_ok=True)
            for path in seeds:
                shutil.copy(path, corpus)
            options = (f"-max_total_time={max(1, round(seconds))}", f"-seed={seed}", "-timeout=10")
            line = [str(self.program), *options, "-print_final_stats=1", "-verbosity=0", "corpus"]
        else:
            line = [str(self.program), str(seconds), str(seed), *map(str, seeds)]
        done = deadlines.run(
            line,
            seconds + _MAKE_ROOM_S,
            cwd=folder,
            # GCC 14's stacks for that are not aligned for 64-byte registers.
            env={**os.environ, "ASAN_OPTIONS": "detect_stack_use_after_return=0"},
        )
        said = done.stdout + done.stderr
        if done.returncode != 0:
            raise AssertionError(f"{self.program.name}, seed {seed}, input in {folder}:\n{said}")
        return said


def build(target: str, folder: Path, guided: bool) -> Fuzzer:
    program = folder / f"fuzz-{target}"
    sources = [HERE / f"{target}_target.c", *(LOWER / name for name in TARGETS[target])]
    sanitizers = "address,undefined"
    if guided:
        compiler, sanitizers = "clang", f"fuzzer,{sanitizers}"
    else:
        compiler = "gcc"
        sources.append(HERE / "mutate.c")
    subprocess.run(
        [
            compiler,
            *_FLAGS.split(),
            f"-fsanitize={sanitizers}",
            "-fno-sanitize-recover=all",
            f"-I{LOWER}",
            f"-I{HERE}",
            *sources,
            *_LIBRARIES.get(target, ()),
            "-o",
            program,
        ],
        check=True,
    )
    return Fuzzer(program, guided)


def have_libfuzzer(folder: Path) -> bool:
    if shutil.which("clang") is None:
        return False
    probe = folder / "probe.c"
    probe.write_text("int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }")
    line = ["clang", "-fsanitize=fuzzer,address", probe, "-o", folder / "probe"]
    return subprocess.run(line, capture_output=True, check=False).returncode == 0


def seeds_of(recording: Path, target: str, folder: Path) -> list[Path]:
    """The first byte of an input is the target's own: 1, to put the checksums right."""
    if target == "hca":
        return _random_seeds(folder)
    name = {"log": "log-000000.seg", "image": "ckpt-000000.img"}[target]
    seeds = []
    for flag in (0, 1):
        path = folder / f"seed-{target}-{flag}"
        path.write_bytes(bytes([flag]) + (recording / name).read_bytes())
        seeds.append(path)
    return seeds


def _random_seeds(folder: Path) -> list[Path]:
    """Lists of commands (hca_target.c); and one of what a stranger says."""
    chance = random.Random(1)
    seeds = []
    for number in range(8):
        path = folder / f"seed-hca-{number}"
        path.write_bytes(bytes([number and 1 + number % 3]) + chance.randbytes(60 << number % 5))
        seeds.append(path)
    return seeds

"""Programs recorded and replayed by rdb-exec itself."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import deadlines
from conftest import PROGRAMS

from rdb.paths import rdb_exec_path

BUILDS = {
    "pie": [],
    "non-pie": ["-no-pie"],
    "static": ["-static"],
    "static-pie": ["-static-pie"],
    "optimised": ["-O2", "-march=native"],
}


@dataclass
class Made:
    """One recording made with rdb-exec itself."""

    rank_dir: Path
    files: Path
    result: subprocess.CompletedProcess[str]

    def verify(self, *options: str) -> tuple[int, dict[str, object]]:
        done = subprocess.run(
            [
                rdb_exec_path(),
                "--replay",
                self.rank_dir,
                "--files",
                self.files,
                "--verify",
                *options,
            ],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        answer = json.loads(done.stdout) if done.stdout else {"what": done.stderr}
        return done.returncode, answer

    def expect_equal(self, at_end: bool = True, every: int = 1) -> None:
        code, answer = self.verify()
        assert (code, answer["ok"]) == (0, True), answer
        hashes = int(str(answer["hashes"])) - int(at_end)
        assert hashes == int(str(answer["events"])) // every + 1  # event 0 has one too


def build(source: str, tmp_path: Path, *flags: str) -> Path:
    compiler = "g++" if source.endswith(".cc") else "gcc"
    out = tmp_path / source.split(".")[0]
    subprocess.run([compiler, "-g", "-Wall", PROGRAMS / source, "-o", out, *flags], check=True)
    return out


def record(
    tmp_path: Path,
    *command: str | Path,
    hash_every: int = 1,
    options: tuple[str, ...] = (),
    under: tuple[Path, ...] = (),
) -> Made:
    rank_dir, files = tmp_path / "rank-0", tmp_path / "files"
    rank_dir.mkdir()
    files.mkdir()
    told = ("--dir", rank_dir, "--files", files, "--hash-every", hash_every)
    line = (*under, rdb_exec_path(), *told, *options, "--", *command)
    result = deadlines.run([str(word) for word in line], 120)
    return Made(rank_dir, files, result)


def verify_all(made: Made, script: str) -> None:
    code, answer = made.verify()
    assert (code, answer["ok"]) == (0, True), (script, answer)
    for image in sorted(made.rank_dir.glob("ckpt-*.img"))[1:]:
        code, answer = made.verify("--checkpoint", str(int(image.stem[5:])))
        assert (code, answer["ok"]) == (0, True), (script, image.name, answer)

"""Records one program with rdb-exec and replays every process of it by itself."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from corpus.entry import Entry
from rdb.paths import rdb_exec_path

TIMEOUT_S = 300
# The caller's own settings must not decide what the programs print.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
}


@dataclass
class Ran:
    """How one run ended."""

    code: int
    out: str
    err: str


@dataclass
class Verified:
    """What replaying one process alone found."""

    name: str
    code: int
    answer: dict[str, object]

    @property
    def equal(self) -> bool:
        # Two hashes: of event 0 and of a later one.  Who is killed may leave only the first.
        return self.code == 0 and self.answer.get("ok") is True and self.hashes >= 1

    @property
    def events(self) -> int:
        return int(str(self.answer.get("events", 0)))

    @property
    def hashes(self) -> int:
        return int(str(self.answer.get("hashes", 0)))


def native(entry: Entry, where: Path) -> Ran:
    """The program without rdb, in a folder of its own."""
    _prepare(entry, where)
    return _with_after(entry, where, _run(entry.command, where))


def record(entry: Entry, where: Path, recording: Path) -> Ran:
    """The same, recorded into RECORDING."""
    _prepare(entry, where)
    rank_dir, files = recording / "rank-0", recording / "files"
    rank_dir.mkdir(parents=True)
    files.mkdir()
    command = [rdb_exec_path(), "--dir", rank_dir, "--files", files]
    command += ["--hash-every", str(entry.hash_every), "--", *entry.command]
    return _with_after(entry, where, _run(tuple(map(str, command)), where))


def verify_all(recording: Path) -> list[Verified]:
    """Replays each process: the first one, forked children, what they became by execve."""
    logs = sorted((recording / "rank-0").rglob("log-000000.seg"))
    return [_verify(log.parent, recording) for log in logs]


def _verify(rank_dir: Path, recording: Path) -> Verified:
    command = [rdb_exec_path(), "--replay", rank_dir, "--files", recording / "files", "--verify"]
    # From elsewhere: a replica must not need what the program found where it ran.
    done = _run(tuple(map(str, command)), Path("/"))
    name = str(rank_dir.relative_to(recording))
    try:
        answer = json.loads(done.out)
    except json.JSONDecodeError:
        answer = {"ok": False, "what": f"exit {done.code}: {done.out}{done.err}"}
    return Verified(name, done.code, answer)


def _prepare(entry: Entry, where: Path) -> None:
    where.mkdir(parents=True)
    for name, text in entry.files.items():
        (where / name).write_text(text)
    if entry.before:
        done = _shell(entry.before, where)
        assert done.code == 0, f"{entry.before}: {done.out}{done.err}"


def _with_after(entry: Entry, where: Path, ran: Ran) -> Ran:
    if not entry.after:
        return ran
    after = _shell(entry.after, where)
    return Ran(ran.code or after.code, ran.out + after.out, ran.err + after.err)


def _shell(text: str, where: Path) -> Ran:
    return _run(("/bin/bash", "-euo", "pipefail", "-c", text), where)


def _run(command: tuple[str, ...], where: Path) -> Ran:
    done = subprocess.run(
        command,
        cwd=where,
        env={**ENVIRONMENT, "HOME": str(where), "TMPDIR": os.environ.get("TMPDIR", "/tmp")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)

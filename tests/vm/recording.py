"""rdb inside a guest: command lines that record, and what a replay of each process alone finds."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from rdb.paths import rdb_exec_path
from vm.guest import Guest


@dataclass(frozen=True)
class Recording:
    """A folder in a guest, for one program and what it starts."""

    folder: str
    hash_every: int = 1  # 0: when rdb likes, and what is frequent is recorded in its short ways
    options: str = ""

    def of(self, command: str) -> str:
        """The shell line that records that one."""
        rank, files = f"{self.folder}/rank-0", f"{self.folder}/files"
        made = f"mkdir -p {rank} {files} && exec {shlex.quote(str(rdb_exec_path()))}"
        where = f"--dir {rank} --files {files}"
        hashes = f"--hash-every {self.hash_every}" if self.hash_every else ""
        return f"{made} {where} {hashes} {self.options} -- {command}"

    def verify(self, guest: Guest, timeout_s: float) -> list[dict[str, object]]:
        """rdb's answer for each process, replayed by itself."""
        logs = guest.run(f"find {self.folder}/rank-0 -name log-000000.seg").out.split()
        return [self._verify(guest, log.rpartition("/")[0], timeout_s) for log in sorted(logs)]

    def _verify(self, guest: Guest, rank: str, timeout_s: float) -> dict[str, object]:
        command = f"{shlex.quote(str(rdb_exec_path()))} --replay {rank}"
        done = guest.run(f"{command} --files {self.folder}/files --verify", timeout_s=timeout_s)
        try:
            answer: dict[str, object] = json.loads(done.out)
        except json.JSONDecodeError:
            answer = {"ok": False, "what": f"exit {done.code}: {done.text}"}
        return answer


def all_equal(answers: list[dict[str, object]]) -> bool:
    """Two hashes each: of event 0 and of a later one."""
    return bool(answers) and all(a["ok"] is True and int(str(a["hashes"])) >= 2 for a in answers)

"""Debian's perftest on soft-RoCE in a virtual machine: native, recorded, on the software HCA.

Everything runs inside one guest (tests/vm), both sides pinned to a processor of their own, so what
is compared has the same slow machine below it: ratios mean something there, times do not.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.figures import Section, ratio
from bench.setup import ROOT, Bench, BenchError
from bench.ways import NATIVE, RECORDED
from rdb.paths import lib_dir, rdb_exec_path

TITLE = "Verbs in a virtual machine: perftest on soft-RoCE"
SOFT = "software HCA"
_WAYS = (NATIVE, RECORDED, SOFT)
_ROUNDS = 3
_BUDGET_S = 300  # then no other round is begun: a busy host takes many times as long
_TRIES = 6
_TIMEOUT_S = 60
_GOAL = 1.05


@dataclass(frozen=True)
class Program:
    name: str
    options: str
    size_bytes: int

    @property
    def is_latency(self) -> bool:
        return self.name.endswith("_lat")

    def seconds(self, said: str, cycles_per_s: float) -> float | None:
        """Of a message: half a round trip, the shortest; or as the bandwidth has it.

        The median tells, on a busy host, how seldom both processors of the guest run at once.
        """
        for line in said.splitlines():
            words = line.split()
            if len(words) >= 5 and words[0] == str(self.size_bytes) and words[1].isdigit():
                figure = float(words[2 if self.is_latency else 3])
                if not 0 < figure < float("inf"):
                    return None
                # -C: cycles, which need no measurement of the processor's speed
                return (
                    figure / cycles_per_s if self.is_latency else self.size_bytes / (figure * 2**20)
                )
        return None


PROGRAMS = (
    Program("ib_send_lat", "-C -s 64 -n 500", 64),
    Program("ib_write_lat", "-C -s 64 -n 500", 64),
    Program("ib_read_lat", "-C -s 64 -n 500", 64),
    Program("ib_atomic_lat", "-C -n 500", 8),
    Program("ib_send_bw", "-s 65536 -n 200", 65536),
    Program("ib_write_bw", "-s 65536 -n 200", 65536),
    Program("ib_read_bw", "-s 65536 -n 200", 65536),
)


def module(name: str) -> Any:
    """Of the tests: they have the machines."""
    tests = str(ROOT / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    return importlib.import_module(name)


def measure(bench: Bench, section: Section) -> None:
    if bench.scale.rounds < 2:
        section.notes.append("not measured: a virtual machine takes longer than a quick look")
        return
    ethernet, kernel = module("vm.ethernet"), module("vm.kernel")
    times: dict[Program, list[dict[str, float]]] = defaultdict(list)
    try:
        with ethernet.guests(1) as (guest,):
            shown = guest.run("grep -m1 'cpu MHz' /proc/cpuinfo").out
            cycles_per_s = float(shown.rpartition(":")[2]) * 1e6
            started = time.monotonic()
            for number in range(min(bench.scale.rounds, _ROUNDS)):
                if time.monotonic() - started > _BUDGET_S:
                    break
                ways = (*_WAYS[number % 3 :], *_WAYS[: number % 3])
                for program in PROGRAMS:
                    try:
                        took = {way: _once(guest, program, way, cycles_per_s) for way in ways}
                        times[program].append(took)
                    except BenchError as error:
                        section.notes.append(f"left out of one round: {error}")
                    bench.say(f"  round {number + 1}: {program.name}")
    except kernel.NoMachine as why:
        section.notes.append(f"not measured: no virtual machine here: {why}")
        return
    for program, rounds in times.items():
        native = [took[NATIVE] for took in rounds]
        for way in (RECORDED, SOFT):
            goal = _GOAL if way == RECORDED else None
            taken = [took[way] for took in rounds]
            section.ratios.append(ratio(program.name, way, native, taken, goal=goal))
    section.notes.append("native: on rxe; the software HCA's programs are recorded, too")


def _once(guest: Any, program: Program, way: str, cycles_per_s: float) -> float:
    said = ""
    # It compares the processor's counter with the clock first, and gives up where it is disturbed.
    for _ in range(_TRIES):
        guest.run("rm -rf /tmp/bench")
        serving = guest.start(
            _line(program, way, "server"), ready="tcp:18515", timeout_s=_TIMEOUT_S
        ).until_ready()
        called = guest.run(_line(program, way, "client") + " 10.9.0.1", timeout_s=_TIMEOUT_S)
        served = serving.wait()
        found = program.seconds(called.out, cycles_per_s)
        if called.code == served.code == 0 and found is not None:
            return found
        said = f"{called.text[-300:]} {served.text[-300:]}"
    raise BenchError(f"{program.name}, {way}: {said[-300:]!r}")


def _line(program: Program, way: str, side: str) -> str:
    cpu = int(side == "client")
    pinned = f"exec taskset -c {cpu}"
    device = "rdb0" if way == SOFT else "rxe0"
    command = f"{program.name} -d {device} -x 1 -F {program.options}"
    if way == NATIVE:
        return f"{pinned} {command}"
    folder = f"/tmp/bench/{side}"
    hca = "soft --hca-key /tmp/bench/hca.key" if way == SOFT else "real"
    return f"mkdir -p {folder}/rank-0 {folder}/files && {pinned} {recording(folder, hca)} {command}"


def recording(folder: str, hca: str) -> str:
    """The words before a command that record it in a guest, in rank-0 and files of that folder."""
    verbs = Path(lib_dir()) / "verbs"
    return (
        f"{rdb_exec_path()} --dir {folder}/rank-0 --files {folder}/files --hca {hca}"
        f" --verbs-stub {verbs}/libibverbs.so.1 --cm-stub {verbs}/librdmacm.so.1"
        f" --verbs-lower {verbs}/verbs.so --"
    )

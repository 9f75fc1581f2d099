"""What verbs calls cost on soft-RoCE, in instructions: natively and recorded, kernel and all.

One guest of one processor, in which a plug-in of qemu counts.  So the figures are the same on a
busy host and on a quiet one; what an instruction takes is another question.  A nanosecond stands
for one.
"""

from __future__ import annotations

import statistics

from bench.figures import Section, ratio
from bench.sections import rdma
from bench.setup import Bench, BenchError
from bench.ways import NATIVE, RECORDED

TITLE = "Verbs in a virtual machine: instructions (1 ns: one)"
_NAMES = {
    "send": "half a round trip of SEND",
    "write": "half a round trip of RDMA WRITE",
    "read": "RDMA READ",
    "atomic": "fetch and add",
    "poll": "a poll that finds nothing",
    "tsc": "rdtsc",
}
_TURNS = 400
_PARTS = 21  # of verbs_turns.c
_TIMEOUT_S = 120


def measure(bench: Bench, section: Section) -> None:
    if bench.scale.rounds < 2:
        section.notes.append("not measured: a virtual machine takes longer than a quick look")
        return
    ethernet, kernel = rdma.module("vm.ethernet"), rdma.module("vm.kernel")
    program = bench.program("verbs_turns.c", "-libverbs")
    plugin = bench.program("qemu_instructions.c", "-shared", "-fPIC")
    counted = bench.built / "instructions"
    try:
        with ethernet.guests(1, plugin=f"{plugin},out={counted}") as (guest,):
            for mode, name in _NAMES.items():
                line = f"{program} rxe0 {mode} {_TURNS}"
                folder = f"/tmp/{mode}"
                recorded = f"mkdir -p {folder}/rank-0 {folder}/files && exec "
                recorded += f"{rdma.recording(folder, 'real')} {line}"
                for command in (line, recorded):
                    done = guest.run(command, timeout_s=_TIMEOUT_S)
                    if done.code:
                        raise BenchError(f"{command} ended with {done.code}", done.text[-300:])
                counts = [int(word) for word in counted.read_text().split()]
                # the median: what comes up now and then (a hash, the kernel's clock) is left out
                native = statistics.median(counts[-2 * _PARTS + 1 : -_PARTS]) / _TURNS
                way = statistics.median(counts[-_PARTS + 1 :]) / _TURNS
                goal = 1.05 if mode in ("send", "write", "read", "atomic") else None
                each = ratio(name, RECORDED, [native * 1e-9], [way * 1e-9], goal=goal)
                section.ratios.append(each)
                bench.say(f"  {name}: {native:.0f} and {way:.0f}")
    except kernel.NoMachine as why:
        section.notes.append(f"not measured: no virtual machine here: {why}")
        return
    section.notes.append(f"{NATIVE}: on rxe; both sides in one process, which never waits")

"""What was measured on: figures without their machine mean nothing."""

from __future__ import annotations

import datetime
import mmap
import os
import platform
import shutil
import subprocess
import time
from pathlib import Path

from bench.setup import ROOT


def describe(store: Path) -> dict[str, object]:
    return {
        "when": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "load": os.getloadavg()[0],
        **_memory(),
        "kernel": platform.release(),
        "store": _file_system(store),
        "libc": " ".join(platform.libc_ver()),
        "gdb": _first_line("gdb", "--version"),
        "mpi": _first_line("mpirun", "--version"),
        "python": platform.python_version(),
        "revision": _revision(),
    }


def _cpu() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def _file_system(path: Path) -> str:
    """Type of the file system that recordings are written to, by the longest mount point."""
    best, kind = "", "unknown"
    with open("/proc/self/mounts", encoding="utf-8") as lines:
        for line in lines:
            _, where, name, *_ = line.split()
            if path.is_relative_to(where) and len(where) >= len(best):
                best, kind = where, name
    return f"{kind} on {best}"


def _first_line(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return "not installed"
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.partition("\n")[0].strip()


def _revision() -> str:
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return "unknown"

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short=12", "HEAD") + (" with changes" if changed else "")


def _memory() -> dict[str, object]:
    """What memory costs that was not used before, and again: CPU time of a MiB in huge pages.

    In a virtual machine the first may be many times the second, because the host has to find the
    memory too; then whatever takes fresh memory (a log in the page cache, a snapshot's copies)
    is as slow, and it is not rdb.
    """
    mib = 128
    costs = []
    for _ in range(2):
        with mmap.mmap(-1, mib << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            if hasattr(mmap, "MADV_HUGEPAGE"):
                memory.madvise(mmap.MADV_HUGEPAGE)
            start = time.process_time()
            for at in range(0, len(memory), mmap.PAGESIZE):
                memory[at] = 1
            costs.append(round((time.process_time() - start) / mib * 1e6))
    return {"fresh_memory_us_per_mib": costs[0], "used_memory_us_per_mib": costs[1]}

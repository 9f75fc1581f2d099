"""How much memory may still be taken: the machine's, or less where a cgroup limits it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdb.memory import memory

GB = 1 << 30
V2 = ("memory.max", "memory.current", "inactive_file")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")


def limited(folder: Path, names: tuple[str, str, str], most: object, used: int, cache: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names[0]).write_text(f"{most}\n")
    (folder / names[1]).write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 5\n{names[2]} {cache}\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text(
        f"MemTotal: {64 << 20} kB\nMemAvailable: {32 << 20} kB\nHugePages_Total: 0\n"
    )
    return tmp_path


@pytest.mark.parametrize("names", [V1, V2])
def test_the_smallest_limit_counts(root: Path, names: tuple[str, str, str]) -> None:
    assert memory(root) == (32 * GB, 64 * GB)
    line, top = ("4:cpu,memory:", "memory") if names is V1 else ("0::", "")
    (root / "proc/self/cgroup").write_text(f"1:name=systemd:/x\n{line}/slurm/job/step\n")
    assert memory(root) == (32 * GB, 64 * GB)
    job = root / "sys/fs/cgroup" / top / "slurm/job"
    limited(job / "step", names, "max" if names is V2 else (1 << 63) - 4096, 7 * GB, 0)
    assert memory(root) == (32 * GB, 64 * GB)
    limited(job, names, 10 * GB, 8 * GB, GB)
    assert memory(root) == (3 * GB, 10 * GB)
    limited(root / "sys/fs/cgroup" / top, names, 2 * GB, 3 * GB, 0)
    assert memory(root) == (0, 2 * GB)

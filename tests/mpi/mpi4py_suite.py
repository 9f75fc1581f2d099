"""mpi4py's own tests over rdb's libmpi: native and recorded, side by side, and each rank replayed.

Run by `make test-mpi4py`.  Arguments are names of its test modules (default: all); --ranks N.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "mpi4py"
RDB = ROOT / ".venv" / "bin" / "rdb"
PYTHON = "/usr/bin/python3"  # Debian's, whose python3-mpi4py it is
TIMEOUT_S = 300
# Not for recordings: it opens the system's libmpi by its name in a compiler's way.
LEFT_OUT = {"test_cffi"}


@dataclass
class Outcome:
    ran: int
    bad: int
    skipped: int
    words: str = ""

    @property
    def passed(self) -> int:
        return self.ran - self.bad - self.skipped


def sources() -> Path:
    """The unpacked source distribution of the installed version."""
    ask = [PYTHON, "-c", "import mpi4py; print(mpi4py.__version__)"]
    version = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    folder = CACHE / f"mpi4py-{version}"
    if not folder.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        wanted = ["--no-binary", ":all:", f"mpi4py=={version}", "--dest", str(CACHE)]
        subprocess.run([*pip, *wanted], check=True)
        with tarfile.open(CACHE / f"mpi4py-{version}.tar.gz") as archive:
            # Debian 12's Python does not have the filter yet.
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            archive.extractall(CACHE, **safe)  # type: ignore[arg-type]
    return folder


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_btl_tcp_if_include": "lo",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader,tcp",
        "RDB_HOME": str(home),
    }


def run(folder: Path, module: str, ranks: int, under: list[str], home: Path) -> Outcome:
    tests = [PYTHON, "test/runtests.py", "--no-builddir", "--no-numpy", "-i", f"^{module}$"]
    command = ["mpirun", "-n", str(ranks), *under, *tests]
    process = subprocess.Popen(
        command, cwd=folder, env=environment(home), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        text, _ = process.communicate()
        return Outcome(0, 0, 0, f"no end after {TIMEOUT_S} s")
    ran = [int(n) for n in re.findall(r"^Ran (\d+) test", text, re.MULTILINE)]
    bad = [int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", text)]
    skipped = [int(n) for n in re.findall(r"skipped=(\d+)", text)]
    said = [line for line in text.splitlines() if line.startswith(("rdb:", "FAIL", "ERROR"))]
    words = "; ".join(dict.fromkeys(said))
    if process.returncode and not words:
        words = f"exit code {process.returncode}"
    if len(ran) < ranks:
        return Outcome(0, 0, 0, words or "it did not end as tests do")
    return Outcome(sum(ran), sum(bad), sum(skipped), words)


def replays(name: str, home: Path) -> str:
    done = subprocess.run(
        [RDB, "replay", "--verify", name], env=environment(home), capture_output=True, text=True,
        timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip().splitlines()[-1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("modules", nargs="*")
    given = parser.parse_args()
    folder = sources()
    home = CACHE / "recordings"
    shutil.rmtree(home, ignore_errors=True)
    modules = given.modules or sorted(
        path.stem for path in (folder / "test").glob("test_*.py") if path.stem not in LEFT_OUT
    )
    print(f"mpi4py {folder.name.split('-')[1]}, {given.ranks} ranks: tests that pass")
    print(f"{'module':28} {'native':>7} {'rdb':>7}  replay")
    native_total = rdb_total = 0
    good = True
    for module in modules:
        native = run(folder, module, given.ranks, [], home)
        under = [str(RDB), "exec", "--name", module, "--"]
        recorded = run(folder, module, given.ranks, under, home)
        replay = replays(module, home) or "equal"
        shutil.rmtree(home / module, ignore_errors=True)
        native_total += native.passed
        rdb_total += recorded.passed
        fine = recorded.passed >= native.passed and replay == "equal"
        good &= fine
        why = "" if fine else f"  <- {recorded.words[:160]}"
        print(f"{module:28} {native.passed:7} {recorded.passed:7}  {replay[:90]}{why}", flush=True)
    print(f"{'all':28} {native_total:7} {rdb_total:7}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

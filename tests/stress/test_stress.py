"""Each stressor of stress-ng ends as natively when it is recorded, and its processes replay.

All share memory with their parent, which carries a caution; only with that may a replay differ.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from stress import LEFT_OUT, REFUSED

pytestmark = pytest.mark.stress

NATIVE_S, RECORDED_S = 60, 240
DIVERGES = 5
NOBODY = 65534


def stressors() -> list[str]:
    if shutil.which("stress-ng") is None:
        return []
    command = ["stress-ng", "--stressors"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return [name for name in found.stdout.split() if name not in LEFT_OUT]


def run(folder: Path, timeout_s: float, *command: str) -> tuple[int | None, str]:
    """As nobody, if this is root.  Exit code, or None at the end of its time; what it said."""
    env = {**os.environ, "RDB_HOME": f"{folder}/home", "HOME": str(folder), "TMPDIR": str(folder)}
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    output = folder / "output"
    with output.open("w") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **user,  # type: ignore[call-overload]
        )
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # what it has left behind, too
            process.wait()
    return code, output.read_text(errors="replace")


def rdb(folder: Path, *arguments: str) -> tuple[int | None, str]:
    return run(folder, RECORDED_S, sys.executable, "-m", "rdb", *arguments)


@pytest.mark.parametrize("name", stressors())
def test_as_natively(name: str) -> None:
    with TemporaryDirectory() as made:
        folder = Path(made)
        os.chmod(folder, 0o700)
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        command = ["stress-ng", "--temp-path", made, f"--{name}", "1", f"--{name}-ops", "4"]
        command += ["-t", "2", "--verify"]
        code, said = run(folder, NATIVE_S, *command)
        if code != 0 or "skipped" in said:
            pytest.skip(f"natively: {code}, {said[-200:]}")
        if name in REFUSED:
            pytest.skip(REFUSED[name])
        code, said = rdb(folder, "run", "--name", "job", "--", *command)
        assert code == 0, said
        told = "may not replay: shared memory" in said
        code, said = rdb(folder, "replay", "job", "--verify")
        assert code == 0 or (told and code == DIVERGES), said

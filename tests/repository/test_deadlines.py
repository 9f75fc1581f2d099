"""The tests' own deadlines: what hangs is ended, what waits for a processor is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import deadlines
import pytest


class Clock:
    """A second passes with each look, of which a process waits for a processor that part."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, starved: float) -> None:
        self.now = 0.0
        self.starved = starved
        monkeypatch.setattr(deadlines.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(deadlines, "_run_queue_waits", self._waits)

    def _waits(self, _process: int) -> list[tuple[str, int]]:
        return [("blocked", 0), ("starved", int(self.now * self.starved * 1e9))]

    def seconds_of(self, deadline: deadlines.Deadline) -> float:
        while not deadline.over():
            self.now += deadline.next_s()
        return self.now


@pytest.mark.parametrize(("starved", "seconds"), [(0.0, 10.0), (0.5, 15.0), (0.75, 25.0)])
def test_a_wait_for_a_processor_does_not_count(
    starved: float, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch, starved)
    # the first look only says how much it was before
    assert clock.seconds_of(deadlines.Deadline(10)) == pytest.approx(seconds, abs=1 / (1 - starved))


def test_what_is_blocked_is_ended() -> None:
    with pytest.raises(subprocess.TimeoutExpired) as late:
        deadlines.run([sys.executable, "-c", "import signal; signal.pause()"], 1)
    assert late.value.timeout == 1


def test_input_output_and_exit_code() -> None:
    says = "import sys; print(sys.stdin.read()); print('why', file=sys.stderr); sys.exit(3)"
    done = deadlines.run([sys.executable, "-c", says], 60, input="what")
    assert (done.returncode, done.stdout, done.stderr) == (3, "what\n", "why\n")


def test_waits_of_all_below_are_seen() -> None:
    spins = "import os; os.fork(); os.fork(); os.write(1, b'begun\\n')\nwhile True: pass"
    command = [sys.executable, "-c", spins]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        try:
            for _ in range(4):
                assert process.stdout.readline() == b"begun\n"
            seen = {task for task, _ in deadlines._run_queue_waits(process.pid)}
            assert len(seen) == 3
        finally:
            os.killpg(process.pid, signal.SIGKILL)

"""Whichever signal ends a command, and when: no process is left, and nobody sees a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest
from conftest import Rdb
from jobstore import Store

_TAG = "RDB_TEST_LEFT"
_LOOKS = "plot rank\ndiff rank\nfind-event max(values) > 9\nbisect rank > 5\ndeadlock\nmessages\n"
_COMMANDS = {
    "bisect": ["causal", "bad < 1"],
    "find-event": ["causal", "max(values) > 9"],
    "deadlock": ["cycle"],
    "messages": ["cycle"],
    "attach": ["causal"],
    "timeline": ["cycle", "-o", "page.html"],
    "replay": ["causal", "--verify"],
}
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


@pytest.mark.parametrize("helpers", [1, 9])
@pytest.mark.parametrize("command", _COMMANDS)
def test_nothing_is_left(store: Store, tmp_path: Path, command: str, helpers: int) -> None:
    """Ended when it has so many processes below it, if it comes to that."""
    for number in _ENDS:
        _ended(store, tmp_path, [command, *_COMMANDS[command]], helpers, number)


@pytest.mark.parametrize("number", _ENDS, ids=lambda one: one.name)
def test_a_search_of_logs_in_several_processes(store: Store, tmp_path: Path, number: int) -> None:
    if os.cpu_count() == 1:
        pytest.skip("it takes two processors")
    for helpers in (1, 2):
        for times in (1, 50):
            _ended(store, tmp_path, ["find-event", "causal", "mpi"], helpers, number, times)


def _ended(
    store: Store, folder: Path, words: list[str], helpers: int, number: int, times: int = 1
) -> None:
    script = folder / "looks"
    script.write_text(_LOOKS)
    tag = f"{words[0]}-{helpers}-{number}"
    before = _processes()

    def tagged() -> list[int]:
        """Living processes that have inherited it; none of them is older."""
        return [pid for pid in _processes() - before if _has(pid, tag)]

    with (folder / "said").open("w+") as said, script.open() as looks:
        process = subprocess.Popen(
            [sys.executable, "-m", "rdb", *words],
            env={**store.environment, _TAG: tag},
            cwd=folder,
            stdin=looks,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        deadlines.wait_for(
            f"{words}: {helpers} helpers",
            lambda: process.poll() is not None or len(tagged()) > helpers,
        )
        # As timeout(1) does it: the command, and its group.  Some press Ctrl-C more often.
        for send in (os.kill, *(os.killpg,) * times):
            if process.poll() is None:
                send(process.pid, number)
        deadlines.wait_for(f"{words}: its end", lambda: process.poll() is not None)
        deadlines.wait_for(f"{words}: all gone", lambda: not tagged())
        said.seek(0)
        text = said.read()
    assert "Traceback" not in text and "Error" not in text, (words, helpers, number, text)


def _processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def _has(pid: int, tag: str) -> bool:
    try:
        return f"{_TAG}={tag}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False  # it has ended, or is another user's


def test_a_signal_ends_a_script_in_the_midst_of_a_command(
    rdb: Rdb, build_text: Callable[..., Path], tmp_path: Path
) -> None:
    """A command that is broken off has an answer; nevertheless no further one is carried out."""
    program = build_text(
        "turns", "int main(void) { for (volatile long i = 0; i < 50000000; i++); }"
    )
    assert rdb("run", "--name", "turns", "--", program).returncode == 0
    script = tmp_path / "script"
    script.write_text(
        "rank 0\nreverse-continue\nshell touch begun\nstepi 40000000\nshell touch on\n"
    )
    with script.open() as text:
        process = subprocess.Popen(
            [sys.executable, "-m", "rdb", "attach", "turns"],
            stdin=text,
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    deadlines.wait_for("the script", (tmp_path / "begun").exists)
    process.send_signal(signal.SIGTERM)
    deadlines.wait_for("its end", lambda: process.poll() is not None)
    assert process.returncode == 128 + signal.SIGTERM
    assert not (tmp_path / "on").exists()

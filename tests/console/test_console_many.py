"""The console over more ranks than it starts GDBs for: through a pseudo-terminal."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deadlines
import pytest
from terminal import DEADLINE_S, Terminal, rdb

from rdb.recording import open_job
from rdb.session.away import most_gdbs
from rdb.session.gdb import GdbProcess
from rdb.session.processes import descendants
from rdb.session.session import Session

RANKS = 6


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path]) -> Path:
    folder = tmp_path_factory.mktemp("home")
    program = build("mpi/many.c", "-O0")
    done = rdb(folder, "run", "--name", "many", "-n", str(RANKS), "--", program)
    assert done.returncode in (0, 7), done.stderr  # mpirun 5 has its ranks' exit code
    return folder


class Many(Terminal):
    def type(self, line: str, prompt: str = "many [0-5] end>") -> str:
        return super().type(line, prompt)

    def gdbs(self) -> int:
        names = [Path(f"/proc/{one.pid}/cmdline") for one in self.below()]
        return sum(b"--interpreter=mi3" in name.read_bytes() for name in names if name.exists())


@pytest.fixture(scope="module")
def terminal(home: Path) -> Iterator[Many]:
    made = Many(home, "many", 100)
    start = made.until("many [0-5] end>")
    assert len([line for line in start.splitlines() if line.startswith("*")]) == RANKS
    yield made
    if made.child.isalive():
        made.leave()


def test_looking_at_all_ranks_starts_few_gdbs(terminal: Many) -> None:
    tree = terminal.type("where")
    assert re.search(r"^0-5: __GI__exit|^0-5: _exit", tree, re.MULTILINE), tree
    assert tree == terminal.type("bt")
    assert re.search(r"^\* +4 +exited 7 .* end +__GI__exit", terminal.type("ranks"), re.MULTILINE)
    # One more is that which those of ranks are forked from, once they are needed.
    assert 1 <= terminal.gdbs() <= min(os.cpu_count() or 1, 4) + 1


def test_values_of_all_ranks(terminal: Many) -> None:
    shown = terminal.type("print cell.flow")
    assert "0,2,4: {1, 1, 0}" in shown and "1,3,5: {0, 0, 0}" in shown
    assert "0-5: 0x6" in terminal.type("print/x size")
    figures = terminal.type("print --stats residual")
    assert re.search(r"^min +0 +0$", figures, re.MULTILINE)
    assert re.search(r"^max +5 +5$", figures, re.MULTILINE)
    assert re.search(r"^mean +2.083333333 +0-5 \(6\)$", figures, re.MULTILINE)
    picture = terminal.type("plot cell.heat")
    assert "50 ┤" in picture and "└──" in picture
    assert max(map(len, picture.splitlines())) <= 100
    assert 'error: No symbol "nowhere" in current context.' in terminal.type("plot nowhere")


def test_difference_of_two_ranks(terminal: Many) -> None:
    shown = terminal.type("diff cell 0 3")
    assert re.search(r"^\.heat +40 +10$", shown, re.MULTILINE), shown
    assert re.search(r"^\.flow\[1\] +1 +0$", shown, re.MULTILINE)
    assert "4 of 5 members differ" in shown
    assert "size is the same in ranks 0 and 3" in terminal.type("diff size 0 3")
    assert "rank 0: Cannot access memory" in terminal.type("diff *(int *)1 0 3")
    assert "there is no rank 9; ranks are 0-5" in terminal.type("diff size 0 9")
    assert "usage: diff EXPR RANK RANK" in terminal.type("diff size 0")


def test_ranks_over_time(terminal: Many) -> None:
    shown = terminal.type("timeline").splitlines()
    assert max(map(len, shown)) <= 100
    lanes = [line for line in shown if re.match(r"^[0-5] ", line)]
    assert len(lanes) == RANKS
    assert all("▼" in lane for lane in lanes)
    # Of a rank that was quick, one column may be both where it began and where it stands.
    assert any("◆" in lane for lane in lanes)
    assert "stands here" in "".join(shown)
    part = terminal.type("timeline 2-3 0..0.000001")
    assert len(re.findall(r"^[23]( |$)", part, re.MULTILINE)) == 2 and "▼ stands" in part
    assert "error: 'x' is not a rank" in terminal.type("timeline x")
    assert "error: 3..1 is not a span of time" in terminal.type("timeline 3..1")


def test_sets_of_ranks(terminal: Many) -> None:
    assert "edge: 0,5 (2 of 6)" in terminal.type("defset edge 0,5")
    assert "hot: 2,4-5 (3 of 6)" in terminal.type("defset hot 'residual > 1'")
    shown = terminal.type("focus edge,hot", "many [0,2,4-5] end>")
    assert "focus: 0,2,4-5 (4 of 6)" in shown
    assert "undid focus edge,hot" in terminal.type("undo")
    assert "undid defset hot 'residual > 1'" in terminal.type("undo")
    assert "hot" not in terminal.type("defset")
    assert "hot: 2,4-5 (3 of 6)" in terminal.type("redo") + terminal.type("defset")
    assert "hot" not in terminal.type("undefset hot")
    assert "there is no set 'hot'" in terminal.type("undefset hot")


def test_one_rank_moves_and_the_others_stay(terminal: Many) -> None:
    terminal.type("focus 2", "many [2] end>")
    terminal.type("break deeper", "many [2] end>")
    shown = terminal.type("reverse-continue", "many [2] ")
    assert "[2] deeper () at many.c:" in shown
    shown = terminal.type("focus all", "many [0-5]>")
    tree = terminal.type("where", "many [0-5]>")
    assert re.search(r"^ *2: deeper \(\) at many\.c:\d+$", tree, re.MULTILINE), tree
    assert re.search(r"^ *0-1,3-5: ", tree, re.MULTILINE), tree
    # What changes something is no look: each rank gets its own GDB, and is in a branch.
    shown = terminal.type("print cell.id = 40 + rank", "many [0-5] ")
    assert "2: $1 = 42" in shown and "5: $1 = 45" in shown
    assert terminal.gdbs() > RANKS
    shown = terminal.type("undo", "many [0-5]>")
    assert "undid print cell.id = 40 + rank in 0-5" in shown
    assert "5: $2 = 5" in terminal.type("print cell.id", "many [0-5]>")


def test_all_ranks_move_each_with_a_gdb_of_its_own(terminal: Many) -> None:
    terminal.type("delete", "many [0-5]>")
    shown = terminal.type("break exchange", "many [0-5]>")
    assert re.search(r"0-1,3-5:\s+Breakpoint 1 at ", shown), shown
    shown = terminal.type("reverse-continue", "many [0-5]")
    assert "exchange (" in shown
    shown = terminal.type("next", "many [0-5]")
    assert "undid next in 0-5" in terminal.type("undo", "many [0-5]")
    tree = terminal.type("where", "many [0-5]")
    assert re.search(r"^ *0-5: exchange \(\) at many\.c:\d+$", tree, re.MULTILINE), tree


def test_gdbs_of_ranks_are_copies_that_end_with_the_console(terminal: Many) -> None:
    terminal.type("focus all", "many [0-5]")
    terminal.type("print cell.id = 7", "many [0-5]")  # each rank gets its own
    below = {one.pid: one for one in terminal.below()}
    gdbs = [pid for pid in below if b"interpreter=mi3" in _read(pid, "cmdline")]
    parents = [int(_read(pid, "stat").rpartition(b")")[2].split()[1]) for pid in gdbs]
    assert sum(parent in gdbs for parent in parents) == RANKS
    terminal.child.kill(signal.SIGKILL)
    deadline = deadlines.Deadline(DEADLINE_S)
    while alive := [one for one in below.values() if one.alive]:
        assert not deadline.over(), alive
        time.sleep(0.05)


def _read(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""  # replicas come and go


def test_gdbs_that_are_not_in_focus_are_put_away(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDB_GDBS", "1")

    async def scenario() -> None:
        async with Session(open_job(home / "many")) as session:
            await session.set_focus([2], "focus 2")
            for command in ("break deeper", "reverse-continue", "break exchange", "delete 2"):
                assert (await session.run(command)).ok
            for command in ("bookmark there", "checkpoint", "print size"):
                assert (await session.run(command)).ok
            here = session.states[2]
            await session.trim()  # of the one in focus nothing is put away
            assert not session.waiting
            await session.set_focus([1], "focus 1")
            assert (await session.run("set $mine = 3")).ok
            await session.trim()
            assert session.states[2] == here and session.point(2) == here.point
            # Looked at where it stands; used again it gets a GDB that has what it had.
            assert (await session.stacks(1, [2]))[2][0].place.function == "deeper"
            await session.set_focus([2], "focus 2")
            assert session.states[2] == here
            assert session.lost == {2: "its values $1 to $1 are lost"}
            shown = (await session.run("info breakpoints")).answers[2].text
            assert re.search(r"(?m)^1 .* in deeper ", shown) and "exchange" not in shown
            assert "there" in (await session.run("bookmark")).answers[2].text
            assert "deeper" in (await session.run("info checkpoints")).answers[2].text
            assert "Breakpoint 3" in (await session.run("break exchange")).answers[2].text
            # Over what was done before and after; a variable cannot be written down: rank 1 stayed.
            await session.trim()
            assert session.states[1].at_end
            entries = (await session.undo(6)).entries
            texts = [entry.text for entry in entries]
            assert texts[0] == "break exchange" and texts[-1] == "reverse-continue"
            assert session.states[2].at_end
            assert (await session.redo(1)).states[2].place.function == "deeper"
            await session.set_focus([1], "focus 1")
            assert "= 3" in (await session.run("print $mine")).answers[1].text

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_ctrl_c_while_a_gdb_comes_back_loses_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDB_GDBS", "1")
    execute = GdbProcess.execute

    def gdbs() -> int:
        below = descendants(os.getpid())
        return sum(b"interpreter=mi3" in _read(one.pid, "cmdline") for one in below)

    async def broken_off(gdb: GdbProcess, command: str, *more: Any, **named: Any) -> Any:
        if command.startswith("rdb-return"):
            monkeypatch.setattr(GdbProcess, "execute", execute)
            raise asyncio.CancelledError
        return await execute(gdb, command, *more, **named)

    async def scenario() -> None:
        async with Session(open_job(home / "many")) as session:
            await session.set_focus([2], "focus 2")
            assert (await session.run("break deeper")).ok
            await session.set_focus([1], "focus 1")
            await session.trim()
            here, before = session.states[2], gdbs()
            monkeypatch.setattr(GdbProcess, "execute", broken_off)
            with pytest.raises(asyncio.CancelledError):
                await session.set_focus([2], "focus 2")
            assert gdbs() == before and session.states[2] == here
            await session.set_focus([2], "focus 2")
            assert "in deeper " in (await session.run("info breakpoints")).answers[2].text

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_so_many_gdbs_as_memory_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RDB_GDBS", raising=False)
    assert most_gdbs(0) >= 8
    assert most_gdbs(100) >= 8
    monkeypatch.setenv("RDB_GDBS", "3")
    assert most_gdbs(100) == 3

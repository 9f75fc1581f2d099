"""The session: ranks, focus, merging, the command log; a real GDB per rank of a recording."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import deadlines
import pytest
from openmpi import ANY_EXIT_CODE

from rdb.commands import sets as commands_sets
from rdb.console import bisect as bisect_face
from rdb.errors import MissingTool, RdbError, UnknownJob, Usage
from rdb.recording import open_job
from rdb.session.bisect import _PROGRESS, Report, bisect
from rdb.session.debugger import RankAnswer
from rdb.session.gdb import CommandTimeout, GdbDied, GdbProcess
from rdb.session.history import CommandLog
from rdb.session.merge import merge
from rdb.session.mi import quote
from rdb.session.overview import failing, overview
from rdb.session.processes import descendants
from rdb.session.ranks import format_ranks, parse_ranks
from rdb.session.session import Session
from rdb.session.stacks import Frame, merge_stacks
from rdb.session.state import Place, RankState

T = TypeVar("T")
DEADLINE_S = 120.0


def run(work: Awaitable[T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, DEADLINE_S)

    return asyncio.run(bounded())


# ---- sets of ranks, merging ----


def test_a_set_that_is_called_after_failed_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the word itself means them."""
    monkeypatch.setattr(commands_sets, "failing", lambda session: ())
    session = SimpleNamespace(sets={"not_failed": (0, 1)}, ranks=(0, 1, 2))
    assert commands_sets.ranks_of(session, "not_failed") == (0, 1)  # type: ignore[arg-type]
    with pytest.raises(Usage, match="no rank ended with a failure"):
        commands_sets.ranks_of(session, "2,failed")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0,2-3", (0, 2, 3)),
        ("{0..3}", (0, 1, 2, 3)),
        ("{0,2..3}", (0, 2, 3)),
        ("all", (0, 1, 2, 3)),
        (" 3 1 1 ", (1, 3)),
    ],
)
def test_parse_ranks(text: str, expected: tuple[int, ...]) -> None:
    assert parse_ranks(text, [0, 1, 2, 3]) == expected


@pytest.mark.parametrize("text", ["", "x", "3-1", "1-", "-1", "{0..}"])
def test_parse_ranks_refuses_what_is_none(text: str) -> None:
    with pytest.raises(Usage):
        parse_ranks(text, [0, 1, 2, 3])


@pytest.mark.parametrize("text", ["4", "0-4000000000", "0-2"])
def test_parse_ranks_refuses_unknown_ranks(text: str) -> None:
    with pytest.raises(UnknownJob):
        parse_ranks(text, [0, 2, 3])


def test_format_ranks() -> None:
    assert format_ranks([3, 0, 1, 2, 7, 9, 8]) == "0-3,7-9"
    assert format_ranks([5]) == "5"
    assert format_ranks([]) == ""


def test_merge_orders_groups_by_their_lowest_rank() -> None:
    groups = merge({2: "a", 0: "b", 3: "a", 1: "b", 4: "c"})
    assert [(group.label, group.value) for group in groups] == [
        ("0-1", "b"),
        ("2-3", "a"),
        ("4", "c"),
    ]


def test_merge_stacks_shares_what_is_common() -> None:
    def stack(*names: str) -> list[Frame]:
        count = len(names)
        return [Frame(i, Place(names[count - 1 - i], None, None)) for i in range(count)]

    roots = merge_stacks(
        {0: stack("main", "send"), 1: stack("main", "recv"), 2: stack("main", "recv")}
    )
    assert [(node.label, str(node.frame)) for node in roots] == [("0-2", "main ()")]
    assert [(node.label, str(node.frame)) for node in roots[0].calls] == [
        ("0", "send ()"),
        ("1-2", "recv ()"),
    ]


def test_quote() -> None:
    assert quote('a "b" \\n') == '"a \\"b\\" \\\\n"'


# ---- the command log ----


def answer(before: int, after: int) -> RankAnswer:
    """An answer after which the rank's own log is as long as AFTER says."""

    def state(history: int) -> RankState:
        return RankState(0, "0", False, False, False, 0, Place(None, None, None), history, 0)

    return RankAnswer("", None, state(before), state(after))


def test_log_passes_over_what_changed_nothing() -> None:
    log = CommandLog()
    log.add("next", {0: answer(0, 1)}, (0,), (0,))
    log.add("print x", {0: answer(1, 1)}, (0,), (0,))
    undone = log.back()
    assert undone is not None and undone.text == "next"
    assert log.back() is None
    again = log.forward()
    assert again is not None and again.text == "next"
    assert log.forward() is None


def test_log_keeps_redo_until_something_changes() -> None:
    log = CommandLog()
    log.add("next", {0: answer(0, 1)}, (0,), (0,))
    log.add("focus 1", {}, (0,), (1,))
    assert log.back() is not None
    log.add("print x", {0: answer(1, 1)}, (0,), (0,))
    assert [entry.text for entry in log.undone] == ["focus 1"]
    log.add("step", {0: answer(1, 2)}, (0,), (0,))
    assert log.undone == []


# ---- one GDB ----


@pytest.fixture(scope="module")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spin")
    source = folder / "spin.c"
    source.write_text("volatile long n;\nint main(void)\n{\n\tfor (;;)\n\t\tn++;\n}\n")
    subprocess.run(["gcc", "-g", "-o", folder / "spin", source], check=True)
    return folder / "spin"


def test_an_answer_is_whole_and_errors_are_values(spin: Path) -> None:
    async def scenario() -> None:
        gdb = await GdbProcess.start([str(spin)])
        try:
            said = await gdb.execute("start")
            assert said.ok and "main () at" in said.text and "n++;" in said.text
            assert said.stopped is not None and said.stopped["reason"] == "breakpoint-hit"
            wrong = await gdb.execute("print nowhere")
            assert wrong.error == 'No symbol "nowhere" in current context.'
            assert wrong.text == ""
            quoted = await gdb.execute('echo a\\tb c\\"d\\n')
            assert quoted.text == 'a\tb c"d'
            frames = await gdb.mi("-stack-list-frames")
            assert frames.payload["stack"][0]["func"] == "main"
        finally:
            await gdb.close()

    run(scenario())


def test_interrupt_stops_a_running_program(spin: Path) -> None:
    async def scenario() -> None:
        gdb = await GdbProcess.start([str(spin)])
        try:
            await gdb.execute("start")
            going = asyncio.create_task(gdb.execute("continue"))
            deadline = deadlines.Deadline(DEADLINE_S)
            [inferior] = descendants(gdb.pid)
            while not _runs(inferior.pid):
                assert not deadline.over()
                await asyncio.sleep(0.01)
            gdb.interrupt()
            said = await going
            assert said.stopped is not None and said.stopped["signal-name"] == "SIGINT"
            assert (await gdb.execute("print n >= 0")).text == "$1 = 1"
        finally:
            await gdb.close()

    run(scenario())


def _runs(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "R"


def test_a_deadline_leaves_gdb_usable(spin: Path) -> None:
    async def scenario() -> None:
        gdb = await GdbProcess.start([str(spin)])
        try:
            await gdb.execute("start")
            with pytest.raises(CommandTimeout):
                await gdb.execute("continue", timeout_s=0.2)
            assert (await gdb.execute("print 6 * 7")).text == "$1 = 42"
        finally:
            await gdb.close()

    run(scenario())


def test_a_gdb_that_gets_no_processor_for_a_while_is_not_given_up(
    spin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdb.session.gdb._HEED_S", 0.5)

    async def scenario() -> None:
        gdb = await GdbProcess.start([str(spin)])
        try:
            await gdb.execute("start")
            os.kill(gdb.pid, signal.SIGSTOP)
            asyncio.get_running_loop().call_later(1.2, os.kill, gdb.pid, signal.SIGCONT)
            with pytest.raises(CommandTimeout):
                await gdb.execute("continue", timeout_s=0.2)
            assert (await gdb.execute("print 6 * 7")).text == "$1 = 42"
        finally:
            await gdb.close()

    run(scenario())


def test_close_ends_a_running_program_too(spin: Path) -> None:
    async def scenario() -> list[Any]:
        gdb = await GdbProcess.start([str(spin)])
        await gdb.execute("start")
        below = descendants(gdb.pid)
        going = asyncio.create_task(gdb.execute("continue"))
        while not gdb.busy:
            await asyncio.sleep(0)
        await gdb.close()
        await asyncio.gather(going, return_exceptions=True)
        assert gdb._process.returncode is not None
        return below

    below = run(scenario())
    assert below and not any(process.alive for process in below)


def test_a_gdb_that_dies_is_said(spin: Path) -> None:
    async def scenario() -> None:
        gdb = await GdbProcess.start([str(spin)], name="the gdb of rank 3")
        try:
            with pytest.raises(GdbDied, match="the gdb of rank 3 ended by itself"):
                await gdb.execute("shell kill -9 $PPID")
            with pytest.raises(GdbDied):
                await gdb.execute("print 1")
        finally:
            await gdb.close()

    run(scenario())


def test_no_gdb_is_a_missing_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_GDB", "/nonexistent/gdb")
    with pytest.raises(MissingTool, match="apt-get install gdb"):
        try:
            run(GdbProcess.start())
        except MissingTool as error:
            raise MissingTool(error.line()) from error


# ---- a recorded job of three ranks ----


@pytest.fixture(scope="module")
def relay(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path]) -> Path:
    """The directory of a recording of programs/mpi/relay.c."""
    home = tmp_path_factory.mktemp("home")
    program = build("mpi/relay.c", "-O0")
    done = deadlines.run(
        [sys.executable, "-m", "rdb", "run", "--name", "relay", "-n", "3", "--", program],
        DEADLINE_S,
        env={**os.environ, "RDB_HOME": str(home), **ANY_EXIT_CODE},
    )
    assert done.returncode in (0, 3), done.stderr  # mpirun 5 has its ranks' exit code
    return home / "relay"


def in_session(relay: Path, scenario: Callable[[Session], Awaitable[None]]) -> None:
    async def work() -> None:
        async with Session(open_job(str(relay))) as session:
            await session.set_focus(session.ranks)
            below = descendants(os.getpid())
            assert len(below) >= 6, "a GDB and a server for each rank"
            await scenario(session)
        assert not any(process.alive for process in below)

    run(work())


def test_overview_and_focus(relay: Path) -> None:
    async def scenario(session: Session) -> None:
        rows = overview(session)
        assert [row.ended for row in rows] == ["exited 0", "exited 0", "exited 3"]
        assert all(row.state is not None and row.state.at_end for row in rows)
        assert failing(session) == (2,)
        await session.set_focus((1, 2), text="focus 1-2")
        outcome = await session.run("print rank")
        assert {rank: answer.text for rank, answer in outcome.answers.items()} == {
            1: "$1 = 1",
            2: "$1 = 2",
        }
        same = await session.run("print 1 + 1")
        assert [(group.label, group.value.text) for group in same.groups()] == [("1-2", "$2 = 2")]

    in_session(relay, scenario)


def test_a_rank_may_be_far_from_its_end(relay: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    execute = GdbProcess.execute

    async def slow(
        gdb: GdbProcess, command: str, timeout_s: float | None = None, *more: Any, **named: Any
    ) -> Any:
        if timeout_s is not None and command.startswith(("goto ", "rdb-template ", "rdb-look ")):
            raise CommandTimeout(f"{command} took longer than {timeout_s} s")
        return await execute(gdb, command, timeout_s, *more, **named)

    async def scenario(session: Session) -> None:
        states = [session.debugger(rank) for rank in session.ranks]
        assert all([(await one).state.at_end for one in states])

    monkeypatch.setattr(GdbProcess, "execute", slow)
    in_session(relay, scenario)


def test_undo_goes_back_exactly_where_the_command_went(relay: Path) -> None:
    async def scenario(session: Session) -> None:
        await session.run("goto start")
        await session.run("break turn")
        first = await session.run("continue")
        assert first.ok and {str(answer.after.place.function) for answer in first.answers.values()
                             if answer.after} == {"turn"}  # fmt: skip
        here = session.states
        await session.set_focus((0,), text="focus 0")
        moved = await session.run("continue")
        assert list(moved.answers) == [0] and moved.moved == (0,)
        assert session.states[0].event > here[0].event
        assert session.states[1] == here[1] and session.states[2] == here[2]
        await session.set_focus((1, 2), text="focus 1-2")

        await session.undo()  # the focus
        assert session.focus == (0,)
        gone = await session.undo()
        assert [entry.text for entry in gone.entries] == ["continue"]
        assert list(gone.states) == [0]
        for rank in session.ranks:
            assert session.states[rank].position == here[rank].position
            assert session.states[rank].pc == here[rank].pc

        again = await session.redo()
        assert [entry.text for entry in again.entries] == ["continue"]
        assert session.focus == (0,)
        assert session.states[0].position == moved.answers[0].after.position  # type: ignore[union-attr]
        assert session.states[1].position == here[1].position

        await session.undo(3)  # continue in 0, the focus, continue everywhere
        assert list(session.focus) == [0, 1, 2]
        assert {state.place.function for state in session.states.values()} == {"_start"}
        kept = await session.run("info breakpoints")
        assert all("turn" in answer.text for answer in kept.answers.values())
        await session.undo()
        none = await session.run("info breakpoints")
        assert all(one.text.startswith("No breakpoints") for one in none.answers.values())

    in_session(relay, scenario)


def test_a_command_that_is_broken_off_says_where_ranks_have_come(
    relay: Path, tmp_path: Path
) -> None:
    """Ctrl-C twice: they went to the start, and the rest of the block was not waited for."""

    async def scenario(session: Session) -> None:
        await session.set_focus((0, 1), text="focus 0-1")
        block = f"goto start\nshell touch {tmp_path}/$PPID\npython import time; time.sleep(600)"
        task = asyncio.create_task(session.run(block))
        async with asyncio.timeout(DEADLINE_S):
            while len(list(tmp_path.iterdir())) < 2:
                await asyncio.sleep(0.02)
        task.cancel()
        outcome = await task
        assert {answer.error for answer in outcome.answers.values()} == {"Interrupted."}
        assert outcome.moved == (0, 1)
        assert all(session.states[rank].at_start for rank in (0, 1))
        assert session.states[2].at_end
        undone = await session.undo()
        assert [entry.text for entry in undone.entries] == [block]
        assert all(session.states[rank].at_end for rank in session.ranks)

    in_session(relay, scenario)


def test_an_undo_that_is_broken_off_can_be_asked_again(
    relay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C twice: some ranks went back, others did not."""
    execute, gone = GdbProcess.execute, 0

    async def broken(gdb: GdbProcess, command: str, *more: Any, **named: Any) -> Any:
        nonlocal gone
        if command.startswith("undo ") and (gone := gone + 1) > 1:
            raise asyncio.CancelledError
        return await execute(gdb, command, *more, **named)

    async def scenario(session: Session) -> None:
        await session.run("goto start")
        await session.run("break turn")
        before = session.states
        await session.run("continue")
        with monkeypatch.context() as patched, pytest.raises(asyncio.CancelledError):
            patched.setattr(GdbProcess, "execute", broken)
            await session.undo()
        assert gone >= 2
        assert [entry.text for entry in session.log.done][-1] == "continue"
        undone = await session.undo()
        assert [entry.text for entry in undone.entries] == ["continue"]
        for rank in session.ranks:
            assert session.states[rank].position == before[rank].position
        assert {state.place.function for state in (await session.redo()).states.values()} == {
            "turn"
        }

    in_session(relay, scenario)


def test_undo_with_nothing_to_undo_is_refused(relay: Path) -> None:
    async def scenario(session: Session) -> None:
        await session.run("print rank")
        with pytest.raises(RdbError, match="nothing to undo"):
            await session.undo()
        assert all(state.at_end for state in session.states.values())

    in_session(relay, scenario)


def test_a_block_is_one_command(relay: Path) -> None:
    async def scenario(session: Session) -> None:
        await session.run("goto start")
        await session.run("break relay")
        set_up = await session.run('commands\nsilent\nprintf "turn %d\\n", turn\nend')
        assert set_up.ok
        hit = await session.run("continue")
        assert "turn 0" in hit.answers[1].text
        broken = await session.run("if 1\nprint nowhere\nend")
        assert not broken.ok
        assert "/rdb-" not in f"{broken.answers[0].error}{broken.answers[0].text}"

    in_session(relay, scenario)


def test_stacks_of_ranks_in_different_places(relay: Path) -> None:
    async def scenario(session: Session) -> None:
        await session.run("goto start")
        await session.run("break relay")
        await session.run("break turn if rank != 1")
        await session.run("continue")
        roots = merge_stacks(await session.stacks())
        [main] = [node for node in roots if node.frame.place.function == "main"] or [
            _find(roots, "main")
        ]
        assert main.label == "0-2"
        inner = {(node.label, node.frame.place.function) for node in main.calls}
        assert {name for _, name in inner} == {"turn"}
        relaying = _find(main.calls, "relay")
        assert relaying.label == "1"

    in_session(relay, scenario)


def _find(nodes: Any, function: str) -> Any:
    for node in nodes:
        if node.frame.place.function == function:
            return node
        below = _find(node.calls, function)
        if below is not None:
            return below
    return None


def test_one_dead_gdb_does_not_take_the_others_along(relay: Path) -> None:
    async def scenario(session: Session) -> None:
        await session.set_focus((1,))
        await session.run("shell kill -9 $PPID")
        await session.set_focus((0, 1, 2))
        outcome = await session.run("print rank")
        assert outcome.answers[0].text == "$1 = 0" and outcome.answers[2].ok
        assert "ended by itself" in str(outcome.answers[1].error)

    in_session(relay, scenario)


# ---- bisect ----


def test_bisect_names_rank_statement_and_message(relay: Path) -> None:
    heard: list[float] = []
    report: Report = run(
        bisect(
            open_job(str(relay)),
            "number >= 0",
            (0, 1, 2),
            progress=lambda rank, share, said: heard.append(share),
        )
    )
    # rank 1 sends before it sets its own number: neither of the two happened before the other
    cause, effect = sorted(report.found, key=lambda answer: answer.rank)
    assert (cause.rank, effect.rank) == (1, 2)
    assert cause.at_ns is not None and effect.at_ns is not None
    assert cause.source_line == "number = rank == 1 ? relay(got, round) : got;"
    assert (cause.function, cause.before, cause.after) == ("turn", "1", "0")
    assert cause.verified_before and cause.verified_after
    assert cause.receive is not None and (cause.receive.source, cause.receive.tag) == (0, 7)
    assert effect.function == "turn" and effect.before == "1" and effect.after == "0"
    assert effect.receive is not None and not effect.receive.wrote
    assert (effect.receive.source, effect.receive.tag, effect.receive.size_bytes) == (1, 7, 4)
    assert [refused.rank for refused in report.not_found] == [0]
    assert "still true" in report.not_found[0].reason
    assert heard.count(1.0) == 3


def test_bisect_names_the_call_that_received_it(relay: Path) -> None:
    report = run(bisect(open_job(str(relay)), "got >= 0", (2,)))
    [answer] = report.found
    assert (answer.function, answer.inside) == ("turn", "PMPI_Recv")
    assert answer.source_line is not None and answer.source_line.startswith("MPI_Recv(&got,")
    assert answer.by_event is not None and answer.written_by.startswith("MPI_Recv(")
    assert answer.receive is not None and answer.receive.wrote
    assert (answer.receive.source, answer.receive.size_bytes) == (1, 4)


def test_bisect_without_an_answer_exits_1(relay: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bisect_face.main(open_job(relay).only("0"), "number < 1000") == 1
    assert "found in no rank" in capsys.readouterr().out


def test_bisect_ends_by_ctrl_c_with_what_is_known(
    relay: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def presses(ranks: Any, name: Any) -> Iterator[Any]:
        pressed: list[float] = []

        def hear(rank: int, share: float, so_far: str) -> None:
            if not pressed:
                os.kill(os.getpid(), signal.SIGINT)
            pressed.append(share)

        yield hear

    monkeypatch.setattr(bisect_face, "_bars", presses)
    assert bisect_face.main(open_job(relay).only("0"), "number < 1000") == 130
    said = capsys.readouterr().out
    assert "found in no rank, interrupted" in said and "0: Interrupted; " in said


def test_bisect_says_how_far_it_is_where_there_is_no_terminal(
    relay: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bisect_face, "_LINE_S", 0.001)
    assert bisect_face.main(open_job(relay).only("0"), "number < 1000") == 1
    assert "rdb: bisect: rank 0 0% after 0 s\n" in capsys.readouterr().err


def test_bisect_says_once_and_early_that_there_is_no_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = "bisect: 12%, event 5; no value at 33 events so far: Division by zero\n"
    assert _PROGRESS.findall(f"bisect: 11%, event 4\n{line}") == [
        ("11", ""),
        ("12", "no value at 33 events so far: Division by zero"),
    ]

    async def hear() -> None:
        with bisect_face._bars([0], str) as heard:
            for share in (0.1, 0.2):
                heard(0, share, "no value at 33 events so far: Division by zero")

    asyncio.run(hear())
    said = "rdb: bisect: rank 0: no value at 33 events so far: Division by zero\n"
    assert capsys.readouterr().err == said


def test_gdb_is_there() -> None:
    assert shutil.which("gdb"), "these tests need gdb: apt-get install gdb"

"""Searches in a real GDB: events, output, changes, calls."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import PROGRAMS, Build
from gdbdriver import RAISING, Gdb, GdbError, Recorded
from scenario import go


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("searches")
    made = Recorded(folder, build("searches.c", "-O0"), PROGRAMS / "searches.c")
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture(scope="module")
def much(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    """With a million changes of one variable."""
    folder = tmp_path_factory.mktemp("much")
    made = Recorded(folder, build("searches.c", "-O0"), PROGRAMS / "searches.c", "much")
    assert made.done.returncode == 0, made.done.stderr
    return made


def rows(text: str) -> list[list[str]]:
    """A table without its header and what is said below it."""
    return [line.split() for line in text.splitlines() if line[:1].isdigit() and "  " in line]


def line(recorded: Recorded, place: str, beyond: int = 0) -> str:
    file, _, number = recorded.at(place).rpartition(":")
    return f"{file}:{int(number) + beyond}"


# Events.


def test_find_event_goes_there_and_back(gdb: Gdb, recorded: Recorded) -> None:
    assert gdb.run("find-event write").startswith("Event ")
    first = gdb.state()
    # since glibc 2.41 the system call of a cancellation point is in a function of its own
    assert gdb.function() in (
        *("write", "__GI___libc_write", "__libc_write", "__internal_syscall_cancel"),
        "__syscall_cancel_arch",
    )
    gdb.run("find-event write")
    assert gdb.state()["event"] > first["event"]
    gdb.run("find-event write --prev")
    assert gdb.state()["position"] == first["position"]
    gdb.run("undo 3")
    assert gdb.state()["at_start"]
    gdb.run("goto END")
    said = gdb.run("find-event --prev close result<0")
    assert "close(-1) = -EBADF" in said


def test_find_event_before_an_event_that_one_is_behind(gdb: Gdb) -> None:
    gdb.run("find-event close fd==-1")
    event = gdb.state()["event"]
    gdb.run("stepi")
    assert gdb.state()["position"] != str(event)
    gdb.run("find-event close --prev")
    assert gdb.state()["position"] == str(event)


def test_find_event_lists_and_counts_without_moving(gdb: Gdb) -> None:
    before = gdb.state()
    listed = gdb.run("find-event write --all")
    assert len(rows(listed)) == 4 and listed.endswith("\n4 events\n")
    assert "4 events, 1 shown" in gdb.run("find-event --all --limit 1 write")
    assert gdb.run("find-event write fd==2 --count") == "1 event\n"
    assert gdb.run("find-event write fd==9 --all") == "0 events\n"
    assert gdb.state() == before


def test_find_event_knows_the_paths(gdb: Gdb) -> None:
    said = gdb.run("find-event open 'zero' in path") if _uses_open(gdb) else ""
    said = said or gdb.run("find-event openat path == '/dev/zero'")
    assert "= 3" in said
    assert "No event" in gdb.fails("find-event 'nowhere' in path")


def _uses_open(gdb: Gdb) -> bool:
    return gdb.run("find-event open --count") != "0 events\n"


def test_find_event_says_what_is_wrong(gdb: Gdb) -> None:
    before = gdb.state()
    assert "did you mean write?" in gdb.fails("find-event wrte")
    assert "is neither a query" in gdb.fails("find-event fd ==")
    assert "Usage" in gdb.fails("find-event")
    assert "No option --nosuch" in gdb.fails("find-event --nosuch write")
    assert "No event after this one" in gdb.fails("find-event write fd==9")
    assert gdb.state() == before


# Output.


def test_output_says_where_each_line_was_written(gdb: Gdb, recorded: Recorded) -> None:
    assert gdb.run("output") == ""
    gdb.run("goto END")
    lines = [one.strip().split(": ", 1) for one in gdb.run("output").splitlines()]
    assert [text for _, text in lines] == ["first", "second", "oops"]
    # A line is where its first part is: it began before what was complained in between.
    events = [int(place.split()[0]) for place, _ in lines]
    assert events == sorted(events)
    assert "(stderr)" in lines[2][0]
    gdb.run(f"goto {events[1]}")
    assert [one.split(": ")[1] for one in gdb.run("output").splitlines()] == ["first", "sec"]
    assert gdb.run(f"output --since {events[0]} --raw") == "sec"
    gdb.run("goto END")
    assert gdb.run("output --raw") == "first\nsecoops\nond\n"
    assert gdb.run("output --fd 2 --raw") == "oops\n"
    assert "oops" not in gdb.run("output --fd 1")
    assert "Usage" in gdb.fails("output --fd x")


# Changes.


def test_changes_lists_all_with_values_and_lines(gdb: Gdb, recorded: Recorded) -> None:
    before = gdb.state()
    listed = gdb.run("changes level")
    table = rows(listed)
    assert [row[2:4] for row in table] == [["0", "1"], ["1", "2"], ["2", "3"], ["3", "4"]]
    assert [row[4] for row in table] == [
        line(recorded, "one"),
        line(recorded, "one", 2),
        line(recorded, "one", 4),
        line(recorded, "four"),
    ]
    assert listed.endswith("4 changes\n")
    assert gdb.state() == before
    for row in table:
        gdb.run(f"goto {row[1]}")
        assert gdb.value("level") == row[3]
        gdb.run("reverse-stepi")
        assert gdb.value("level") == row[2]


def test_changes_names_the_event_that_wrote(gdb: Gdb) -> None:
    last = gdb.run("changes word").splitlines()[-2]
    assert '"aaaa' in last and "read(3, " in last


def test_changes_of_a_part(gdb: Gdb) -> None:
    whole = rows(gdb.run("changes edges"))
    assert [row[3] for row in whole] == ["0", "1", "0", "1", "0"]
    few = gdb.run("changes edges --limit 2")
    assert rows(few) == whole[:2]
    assert f"--from {whole[1][1]}" in few
    rest = rows(gdb.run(f"changes edges --from {whole[1][1]}"))
    assert [row[1:] for row in rest] == [row[1:] for row in whole[2:]]
    middle = rows(gdb.run(f"changes edges --from {whole[0][1]} --to {whole[3][1]}"))
    assert [row[1:] for row in middle] == [row[1:] for row in whole[1:4]]
    none = gdb.run(f"changes edges --from {whole[3][1]} --to {whole[1][1]}")
    assert none == "edges does not change in this part of the recording.\n"
    assert gdb.run("changes quiet") == "quiet does not change in this part of the recording.\n"
    event = int(whole[0][1].split(":")[0])
    assert "does not change" in gdb.run(f"changes edges --to {event}")


def test_changes_of_a_local_are_those_of_its_frame(gdb: Gdb, recorded: Recorded) -> None:
    go(gdb, recorded, "climbed", "by == 5")
    table = rows(gdb.run("changes height"))
    assert [row[3] for row in table][-3:] == ["5", "15", "30"]
    assert {row[4].split(":")[0] for row in table} == {"searches.c"}
    assert len(table) <= 4  # what was on the stack is overwritten by 0, or was 0
    gdb.expect_at(recorded.at("climbed"))


def test_changes_refuses_what_is_not_in_memory(gdb: Gdb) -> None:
    assert "not in memory" in gdb.fails("changes level + 1")
    assert 'No symbol "nosuch"' in gdb.fails("changes nosuch")
    assert "Usage" in gdb.fails("changes")
    assert "needs a count" in gdb.fails("changes level --limit x")


def test_first_goes_to_the_first_write(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("goto END")
    said = gdb.run("first level")
    assert "Was = 0\nNow = 1\n" in said
    gdb.expect_at(recorded.at("one"))
    gdb.run("undo")
    assert gdb.state()["at_end"]
    before = gdb.state()
    assert "does not change" in gdb.run("first quiet")
    assert gdb.state() == before


@pytest.mark.slow
def test_a_million_changes_are_bounded_and_end_by_ctrl_c(much: Recorded) -> None:
    with much.gdb() as gdb:
        before = gdb.state()
        assert len(rows(gdb.run("changes many"))) == 200
        gdb.start("changes many --limit 1000000")
        found = 0
        while found <= 200:
            far = re.search(r"(\d+) found", gdb.run_until_log("rdb-progress: changes"))
            found = int(far[1]) if far else 0
        gdb.interrupt()
        said = gdb.finish()
        assert "Interrupted: this is what was found" in said
        table = rows(said)
        assert len(table) > 200
        assert [int(row[3]) for row in table] == list(range(1, len(table) + 1))
        assert gdb.state() == before
        gdb.run(f"goto {table[150][1]}")
        assert gdb.value("many") == "151"


# Calls.


def calls(text: str) -> list[tuple[str, str, str, str]]:
    """Position, call, result, caller."""
    found = [re.split(r"  +", line) for line in text.splitlines() if re.match(r"\d+ +\d+:", line)]
    return [(row[1], row[2], row[3] if len(row) > 4 else "", row[-1]) for row in found]


def test_calls_with_arguments_and_results(gdb: Gdb, recorded: Recorded) -> None:
    gdb.run("goto END")
    gdb.run("break both")
    gdb.run("watch level")
    before, points = gdb.state(), gdb.breakpoints()
    listed = gdb.run("calls fib")
    table = calls(listed)
    assert listed.endswith("\n15 calls\n")
    fib = [0, 1, 1, 2, 3, 5]
    for _, call, result, _ in table:
        found = re.fullmatch(r"fib \(n=(\d)\)", call)
        assert found and int(result) == fib[int(found[1])]
    assert {row[3] for row in table[1:]} == {line(recorded, "fib")}
    assert (gdb.state(), gdb.breakpoints()) == (before, points)
    gdb.run(f"goto {table[3][0]}")
    assert (gdb.function(), gdb.value("n")) == ("fib", "2")
    gdb.run("undo")
    # What is watched and broken at still is.
    assert "level" in gdb.run("reverse-continue")
    gdb.expect_at(recorded.at("four"))


@pytest.mark.parametrize(
    ("function", "call", "result"),
    [
        ("half", "half (x=5)", "2.5"),
        ("both", "both (a=7, text=", "{first = 7, second = 4}"),
        ("nothing", "nothing (where=", ""),
    ],
)
def test_calls_shows_results_of_all_kinds(gdb: Gdb, function: str, call: str, result: str) -> None:
    (row,) = calls(gdb.run(f"calls {function}"))
    assert row[1].startswith(call) and row[2] == result


def test_calls_of_a_part(gdb: Gdb) -> None:
    whole = calls(gdb.run("calls climb"))
    assert [row[2] for row in whole] == ["12", "30"]
    few = gdb.run("calls climb --limit 1")
    assert calls(few) == whole[:1] and f"--from {whole[0][0]}" in few
    assert calls(gdb.run(f"calls climb --from {whole[0][0]}")) == whole[1:]
    event = int(whole[0][0].split(":")[0])
    assert (
        gdb.run(f"calls climb --to {event - 1}")
        == "climb is not called in this part of the recording.\n"
    )
    assert len(calls(gdb.run(f"calls climb --to {event}"))) == 2
    assert 'Function "nosuch" not defined' in gdb.fails("calls nosuch")
    assert "Usage" in gdb.fails("calls")
    assert gdb.state()["at_start"]


def test_many_calls_are_named_within_a_packet(much: Recorded) -> None:
    with much.gdb() as gdb:
        assert len(calls(gdb.run("calls step --limit 1000"))) == 1000


def test_calls_end_by_ctrl_c(much: Recorded) -> None:
    with much.gdb() as gdb:
        gdb.run("goto END")
        before = gdb.state()
        gdb.start("calls step --limit 1000000")
        gdb.run_until_log("rdb-progress: calls")
        gdb.interrupt()
        said = gdb.finish()
        assert "Interrupted: this is what was found" in said
        table = calls(said)
        assert table and [row[1] for row in table] == [f"step (i={n})" for n in range(len(table))]
        assert gdb.state() == before
        gdb.run(f"goto {table[-1][0]}")
        assert gdb.integer("i") == len(table) - 1


def test_ctrl_c_waits_for_the_outermost_that_keeps_calm(gdb: Gdb) -> None:
    """A search asks after each part of it, and parts keep calm themselves."""
    press = "os.kill(os.getpid(), 2)"
    nested = f"with link.calm():\n with link.calm():\n  {press}\n had = link.pressed()"
    late = f"with link.calm():\n {press}"
    gdb.run("python import os; from rdb_gdb import link")
    gdb.run(f"python exec({nested!r})")
    assert gdb.run("python print(had)") == "True\n"
    gdb.run(f"python exec({late!r})")
    gdb.run("python with_none = link.pressed()")
    assert gdb.run("python print(with_none)") == "False\n"


# Bisect.


def test_bisect_finds_the_first_and_the_last_of_one_interval(gdb: Gdb, recorded: Recorded) -> None:
    first = json.loads(gdb.run("bisect edges --json"))
    assert (first["before"], first["after"]) == ("1", "0")
    assert f"searches.c:{first['line']}" == recorded.at("edge-1")
    last = json.loads(gdb.run("bisect edges --last --json"))
    assert (last["before"], last["after"]) == ("1", "0")
    assert f"searches.c:{last['line']}" == recorded.at("edge-3")
    assert first["event"] == last["event"]
    gdb.run(f"goto {last['position']}")
    gdb.expect_at(recorded.at("edge-3"))
    assert gdb.value("edges") == "1"
    gdb.run("stepi")
    assert gdb.value("edges") == "0"


def test_bisect_in_a_part(gdb: Gdb, recorded: Recorded) -> None:
    row = rows(gdb.run("changes level"))[2]
    event = int(row[1].split(":")[0])
    found = json.loads(gdb.run(f"bisect level < 3 --from 0 --to {event + 1} --json"))
    assert f"searches.c:{found['line']}" == row[4]
    assert "still true" in gdb.fails(f"bisect level < 3 --to {event}")
    assert "false at the start" in gdb.fails(f"bisect level < 3 --from {event + 1}")
    assert "no event lies between" in gdb.fails("bisect level < 3 --from 3 --to 2")


def test_bisect_depths(gdb: Gdb, recorded: Recorded) -> None:
    events = json.loads(gdb.run("bisect level < 4 --depth event --json"))
    assert events["position"] == str(events["event"])
    assert gdb.state()["position"] == events["position"]
    statement = json.loads(gdb.run("bisect busy < 1 --depth statement --json"))
    assert f"searches.c:{statement['line']}" == recorded.at("nothing")
    start = int(re.findall(r"0x[0-9a-f]+", gdb.run("info line *$pc"))[0], 16)
    assert gdb.integer("$pc") == start
    exact = json.loads(gdb.run("bisect busy < 1 --json"))
    assert exact["line"] == statement["line"]
    assert gdb.integer("$pc") > start
    assert "--depth is" in gdb.fails("bisect level < 4 --depth line")


def test_bisect_of_locals_and_convenience_functions(gdb: Gdb, recorded: Recorded) -> None:
    found = json.loads(gdb.run("bisect main::fd != 3 --from 1 --to 4 --json"))
    assert f"searches.c:{found['line']}" == recorded.at("open")
    found = json.loads(gdb.run("bisect $_strlen(word) + level < 2 --json"))
    assert f"searches.c:{found['line']}" == line(recorded, "one", 2)


def test_bisect_says_of_what_raises_that_it_is_undefined(
    gdb: Gdb, recorded: Recorded, tmp_path: Path
) -> None:
    (tmp_path / "raising.py").write_text(RAISING)
    gdb.run(f"source {tmp_path / 'raising.py'}")
    for expression, why in (
        ("$below(level, 4) > 0", "Error occurred in Python: 4 is too high"),
        ("10/(4 - level) > 0", "Division by zero"),
        ("*(char *)(level < 4 ? &level : 0) < 9", "Cannot access memory at address 0x0"),
    ):
        said = gdb.fails(f"bisect {expression}")
        assert re.match(
            r"true as long as it had a value; true at \d+ events up to \d+, undefined at the "
            rf"other \d+ that were looked at: {why}.* \(level, searches.c:\d+\)",
            said,
        ), said
    for expression, why in (
        ("$below(level, 0) > 0", "Error occurred in Python: 0 is too high"),
        ("1/(level - level) > 0", "Division by zero"),
    ):
        said = gdb.fails(f"bisect {expression}")
        assert re.match(rf"undefined at all \d+ events that were looked at: .*{why}", said), said
    found = json.loads(gdb.run("bisect $below(level, 9) > 0 && level < 4 --json"))
    assert f"searches.c:{found['line']}" == recorded.at("four")
    assert "too high" in gdb.fails("print $below(5, 4)")
    assert '"message"' in gdb.run("show python print-stack")


def test_bisect_takes_no_other_variable_where_the_nearest_one_has_no_value(much: Recorded) -> None:
    with much.gdb() as gdb:
        gdb.run("break step")
        gdb.run("continue")
        said = gdb.fails("bisect 1/(i - i) > 0")
        assert "step is not running" in said and "(i in step, searches.c:" in said, said


def test_calls_mean_the_programs_own_function(much: Recorded) -> None:
    """libc has a `step`, too (regexp.h)."""
    with much.gdb() as gdb:
        assert "(2 locations)" in gdb.run("break step")
        said = gdb.run("calls step --limit 3")
        assert "call by call" not in said
        assert [row[2:4] for row in rows(said)] == [["step", f"(i={i})"] for i in range(3)]


def test_bisect_says_what_is_misspelt(gdb: Gdb) -> None:
    assert gdb.fails("bisect nosuch > 3").startswith('No symbol "nosuch" in current context: ')
    assert gdb.state()["at_start"]


def test_bisect_ends_by_ctrl_c_with_what_is_known(much: Recorded) -> None:
    with much.gdb() as gdb:
        before = gdb.state()
        for _ in range(3):
            gdb.start("bisect many < 500000 --progress")
            gdb.run_until_log("bisect: 7")
            gdb.interrupt()
            with pytest.raises(GdbError, match=r"Interrupted; (true at|false at event) \d+"):
                gdb.finish()
            assert gdb.state() == before
        found = json.loads(gdb.run("bisect level < 2 --json"))
        assert f"searches.c:{found['line']}" == line(much, "one", 2)

"""find-event with predicates: events right after which arrays of the program are as asked."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from arrays import home, number
from conftest import PROGRAMS, run_rdb
from gdbdriver import Gdb, Recorded, in_console

__all__ = ["home"]
BAD = "!allfinite(chunk.density)"
ELEMENT = "chunk.density[3][7] = -nan(0x8000000000000)"


@pytest.fixture(scope="module")
def gdb(home: Path) -> Iterator[Gdb]:
    with Gdb("cells", rank=1, home=home) as opened:
        yield opened


@pytest.fixture(scope="module")
def steps(gdb: Gdb) -> dict[int, int]:
    """The step after each event of rank 1, by going to each."""
    gdb.run("goto end")
    found = {}
    for event in range(event_of(gdb) + 1):
        gdb.run(f"goto {event}")
        found[event] = int(number(gdb, "chunk.step"))
    return found


def event_of(gdb: Gdb) -> int:
    said = re.search(r"(\d+)", gdb.run("when"))
    assert said is not None
    return int(said[1])


def rows(said: str) -> list[int]:
    return [int(line.split()[0]) for line in said.splitlines() if line[:1].isdigit()][:-1]


def test_next_and_prev(gdb: Gdb, steps: dict[int, int]) -> None:
    bad = [event for event, step in steps.items() if step >= 5]
    gdb.run("goto start")
    said = gdb.run(f"find-event {BAD}")
    assert said.startswith(f"Event {bad[0]}: MPI_Barrier(comm=COMM_WORLD); {ELEMENT}\n")
    assert event_of(gdb) == bad[0]
    assert "No event before this one" in gdb.fails(f"find-event {BAD} --prev")
    gdb.run(f"find-event '{BAD}'")
    assert event_of(gdb) == bad[1]
    gdb.run("undo")
    assert event_of(gdb) == bad[0]
    gdb.run("goto end")
    gdb.run(f"find-event {BAD} --prev")
    assert event_of(gdb) == bad[-1]
    assert "No event after this one" in gdb.fails(f"find-event {BAD}")
    assert event_of(gdb) == bad[-1]


def test_true_for_a_moment(gdb: Gdb, steps: dict[int, int]) -> None:
    for step in (3, 7):
        wanted = [event for event, now in steps.items() if now == step]
        said = gdb.run(f"find-event min(chunk.density[0]) == {step} --all")
        assert rows(said) == wanted and "chunk.density[0][0]" in said


def test_of_some_events_only(gdb: Gdb, steps: dict[int, int]) -> None:
    gdb.run("goto 3")
    wanted = [event for event, step in steps.items() if step >= 5]
    said = gdb.run(f"find-event mpi.barrier {BAD} --all")
    found = rows(said)
    assert found == [event for event in wanted if "MPI_Barrier" in described(gdb, event)]
    assert gdb.run(f"find-event mpi.barrier and event > {found[1]} and {BAD} --count").startswith(
        f"{len(found) - 2} events"
    )
    assert event_of(gdb) == 3


def described(gdb: Gdb, event: int) -> str:
    return gdb.run(f"find-event event=={event} --all")


def test_what_is_undefined_is_said(gdb: Gdb, steps: dict[int, int]) -> None:
    said = gdb.run("find-event any(m_e[0]@4096 < 0) --count")
    total = len(steps)
    assert re.search(
        rf"^\d events; undefined at \d+ of {total}: memory at 0x0 cannot be read", said
    )
    assert 'No symbol "nowhere"' in gdb.fails("find-event all(nowhere > 1)")
    assert 'No symbol "nowhere"' in gdb.fails(f"find-event {BAD} and nowhere > 3")


@pytest.mark.parametrize("query", ["{}", "{} and event >= 0", "not mpi.nothing and {}", "mpi {}"])
def test_what_is_no_predicate(gdb: Gdb, steps: dict[int, int], query: str) -> None:
    """Names that are neither events nor fields are the program's."""
    query = query.replace("mpi.nothing", "getppid")
    gdb.run("goto start")
    for asked, wanted in (
        ("chunk.step == 3", lambda step: step == 3),
        ("chunk.step%2 == 1 || chunk.step > 5", lambda step: step % 2 or step > 5),
    ):
        events = [event for event, step in steps.items() if wanted(step)]
        if query.startswith("mpi"):
            asks = {event: f"find-event mpi and event=={event} --count" for event in events}
            events = [event for event in events if gdb.run(asks[event]).startswith("1 ")]
        said = gdb.run(f"find-event {query.format(asked)} --count")
        assert re.match(rf"{len(events)} events?\b", said), (asked, said)
        gdb.run(f"find-event {query.format(asked)} --next")
        assert event_of(gdb) == events[0]
        gdb.run("goto start")


def test_a_field_that_is_spelt_wrong(gdb: Gdb, home: Path) -> None:
    hint = "did you mean source?"
    assert hint in gdb.fails("find-event mpi.recv sorce==1")
    done = run_rdb(home, home, "find-event", "cells", "mpi.recv sorce==1")
    assert done.returncode == 2 and hint in done.stderr
    done = run_rdb(home, home, "find-event", "cells", "mpi.recv target==1")
    assert done.returncode == 2 and "did you mean target_count, target_datatype, " in done.stderr


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("sites")
    source = PROGRAMS / "call_sites.c"
    subprocess.run(["gcc", "-g", "-O0", "-o", folder / "sites", source], check=True)
    with Gdb("job", home=Recorded(folder, folder / "sites", source).home) as opened:
        opened.run("set $zero = 0")
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "max(fixed) > limit",
        "any(grown[0]@n < limit)",
        "max(here) > 5",
        "any(seen > 7)",
        "sum(here) > limit and min(fixed) < 1",
        "10 / (count(fixed > 1) - 2) > 0",
        "sum(w[0]@4) > at",
        "getuid any(grown[0]@n > 3)",
    ],
)
def test_each_event_as_if_gdb_looked_there(sites: Gdb, query: str) -> None:
    """What depends on a convenience variable GDB evaluates at every event."""
    quickly = sites.run(f"find-event {query} --all")
    assert quickly == sites.run(f"find-event {query} + $zero --all")
    assert int(re.findall(r"^(\d+) events", quickly, re.MULTILINE)[0]) < 110
    sites.run("goto end")
    back = sites.run(f"find-event {query} --prev") if rows(quickly) else ""
    assert not back or back.startswith(f"Event {rows(quickly)[-1]}: ")


def test_over_ranks(home: Path, steps: dict[int, int]) -> None:
    bad = [event for event, step in steps.items() if step >= 5]
    done = run_rdb(home, home.parent, "find-event", "cells", BAD, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(row["rank"], row["event"]) for row in found] == [(1, event) for event in bad]
    assert all(row["text"].endswith(ELEMENT) for row in found)
    for way, place in (("--next", 0), ("--prev", -1)):
        one = run_rdb(home, home.parent, "find-event", "cells", BAD, way, "--json")
        assert json.loads(one.stdout) == [found[place]]
    counted = run_rdb(home, home.parent, "find-event", "cells", BAD, "--count", "--json")
    assert json.loads(counted.stdout) == [
        {"rank": 0, "count": 0}, {"rank": 1, "count": len(bad)}
    ]  # fmt: skip
    none = run_rdb(home, home.parent, "find-event", "cells", BAD, "--rank", "0")
    assert none.returncode == 1 and none.stderr.startswith(
        "rdb: the query is true of no event of cells"
    )
    wrong = run_rdb(home, home.parent, "find-event", "cells", "all(nowhere > 1)")
    assert wrong.returncode == 2 and 'No symbol "nowhere"' in wrong.stderr, wrong.stderr
    wrong = run_rdb(home, home.parent, "bisect", "cells", "all(nowhere > 1)")
    assert wrong.returncode == 2 and 'No symbol "nowhere"' in wrong.stdout, wrong.stdout


def test_a_stop_names_the_element(tmp_path: Path) -> None:
    source = tmp_path / "turns.c"
    source.write_text(
        "#include <unistd.h>\n"
        "double u[3];\n"
        "int main(void)\n"
        "{\n"
        "	for (int i = 0; i < 9; i++) {\n"
        "		u[i % 3] = i; /* @store */\n"
        "		getppid();\n"
        "	}\n"
        "	return 0;\n"
        "}\n"
    )
    program = tmp_path / "turns"
    subprocess.run(["gcc", "-g", "-O0", "-o", program, source], check=True)
    lines = ["goto start", "break getppid if any(u > 4)", "continue", "delete",
             "watch max(u) > 6", "continue", "print u[1]"]  # fmt: skip
    said = in_console(Recorded(tmp_path, program, source).home, "job", lines)
    assert "rdb: u[2] = 5\n" in said[2], said
    assert "Watchpoint 2: max(u) > 6" in said[5] and "rdb: u[1] = 7\n" in said[5], said
    assert said[6].rstrip().endswith("= 7"), said

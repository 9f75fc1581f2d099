"""Quotes mean the same in a shell, in the console, in a script and at GDB's prompt."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import deadlines
import pytest
from conftest import PROGRAMS, Build, run_rdb
from gdbdriver import DEADLINE_S, Gdb, Recorded

from rdb.commands.quoting import word
from rdb.errors import Usage
from rdb.recording import open_job
from rdb.recording.query.find import find_events
from rdb.recording.query.query import Query

QUERY = "write fd==1 and name == 'write'"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("quotes")
    made = Recorded(folder, build("searches.c", "-O0"), PROGRAMS / "searches.c")
    assert made.done.returncode == 0, made.done.stderr
    return made


@pytest.fixture(scope="module")
def session(recorded: Recorded) -> Iterator[Gdb]:
    with recorded.gdb() as opened:
        yield opened


def single(text: str) -> str:
    """As a shell needs it, always in single quotes."""
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def same(text: str) -> str:
    return text


def spaced(text: str) -> str:
    return f"  {single(f' {text} ')}"


def twice(text: str) -> str:
    return double(single(text))


QUOTES = [single, double, spaced, twice]


def is_shell(quote: object) -> bool:
    return quote in (single, double)


@pytest.mark.parametrize("text", ["x > 0", "c == 'x'", 's == "a b"', r"c == '\n'", "a"])
@pytest.mark.parametrize("quote", [single, double])
def test_the_quotes_of_these_tests_are_a_shells(quote: object, text: str) -> None:
    assert callable(quote) and shlex.split(quote(text)) == [text]


# Queries over events.


@pytest.mark.parametrize("quote", QUOTES)
@pytest.mark.parametrize("query", [QUERY, "write", 'name == "write"', "close result<0"])
def test_a_query_in_quotes_is_the_query(
    recorded: Recorded, session: Gdb, query: str, quote: object
) -> None:
    assert callable(quote)
    rank = open_job(recorded.home / "job").rank(0)
    count = len(list(find_events(rank, Query(query))))
    assert 0 < count < rank.last_event
    expected = f"{count} event{'s' * (count != 1)}\n"
    assert session.run(f"find-event {query} --count") == expected
    assert session.run(f"find-event {quote(query)} --count") == expected
    assert session.run(f"find-event --count {quote(query)}") == expected


@pytest.mark.parametrize(
    "query",
    ["1", "'no such thing'", "\"'no such thing'\"", "'1'", "1 == 1", "write and 1", "not 0",
     "write or 'x'", "'a' in 'abc'", "(1, 2)", "1 + 1", "-1", "fd == 1 and (2 < 3 or 4)", "True"],
)  # fmt: skip
def test_a_constant_is_no_query(recorded: Recorded, session: Gdb, query: str) -> None:
    with pytest.raises(Usage):
        Query(query)
    session.fails(f"find-event {query} --count")
    done = run_rdb(recorded.home, recorded.folder, "find-event", "job", query)
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1


# Expressions of the program.

_FORTRAN = """
program counts
  implicit none
  integer :: turn
  interface
    integer(4) function getppid() bind(c)
    end function
  end interface
  do turn = 1, 5
    if (getppid() < 0) stop 1
  end do
end program
"""


@pytest.mark.parametrize("quote", [same, *QUOTES])
def test_where_a_text_has_single_quotes(tmp_path: Path, build: Build, quote: object) -> None:
    """In Fortran: GDB would put the text into the program's memory, which makes a branch."""
    assert callable(quote)
    source = tmp_path / "counts.f90"
    source.write_text(_FORTRAN)
    with Recorded(tmp_path, build(source, "-O0"), source).gdb() as gdb:
        gdb.run("break counts.f90:10")
        gdb.run("continue")
        assert gdb.run(f"find-event {quote('turn == 4')} --count").startswith("1 event;")
        assert "turned false" in gdb.run(f"bisect {quote('turn < 3')}")
        assert "branch" not in gdb.state()["position"] and not gdb.state()["branch"]


@pytest.mark.parametrize("quote", [same, *QUOTES])
@pytest.mark.parametrize(
    "condition",
    ["level < 4", r"edges != '\0'", "level < 'e' - 'a'", '$_streq(word, "a b") || level < 4'],
)
def test_a_condition_in_quotes_is_the_condition(
    session: Gdb, condition: str, quote: object
) -> None:
    assert callable(quote)
    session.run("goto START")
    plain = session.run(f"bisect {condition} --jobs 1")
    assert f"{condition} turned false in rank 0" in plain
    session.run("goto START")
    assert session.run(f"bisect {quote(condition)} --jobs 1") == plain
    session.run("goto START")
    assert session.run(f"bisect --jobs 1 {quote(condition)}") == plain


@pytest.mark.parametrize(
    "condition",
    [
        "level = 3",
        "level += 1",
        "level <<= 1",
        "level /= 2",
        "level++ > 3",
        "1 < --level",
        "level-- == 1",
    ],
)
def test_what_stores_is_no_condition(session: Gdb, condition: str) -> None:
    assert "stores to memory" in session.fails(f"bisect {condition}")
    assert "stores to memory" in session.fails(f"rdb-number --condition {condition}")


@pytest.mark.parametrize(
    "condition",
    ["1", "0", '"level"[0]', "1 < 2", "sizeof(int) == 4", "'a' == 'b'", "1.5e3 > 2", "0x1f"],
)
def test_a_constant_is_no_condition(session: Gdb, condition: str) -> None:
    assert "is a constant" in session.fails(f"bisect {condition}")
    assert "is a constant" in session.fails(f"rdb-number --condition {condition}")


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        *((one, "stores to memory") for one in ("level = 3", "1 < --level", "level++ > 3")),
        *((one, "is a constant") for one in ("1", '"level"[0]', "'a' == 'b'")),
    ],
)
def test_a_shell_is_told_the_same(recorded: Recorded, condition: str, why: str) -> None:
    done = run_rdb(recorded.home, recorded.folder, "bisect", "job", condition)
    assert done.returncode != 0 and why in done.stdout + done.stderr


ADDRESSED = ["*(int *) AT < 4", "{int} AT < 4", "((int *) AT)[0] < 4", "1 * *(int *) AT < 4"]


@pytest.mark.parametrize("condition", ADDRESSED)
def test_what_is_at_an_address_is_no_constant(session: Gdb, condition: str) -> None:
    session.run("goto START")
    by_name = session.run("bisect level < 4 --jobs 1")
    at = session.value("(unsigned long) &level")
    session.run("goto START")
    found = session.run(f"bisect {condition.replace('AT', at)} --jobs 1")
    turned = re.compile(r"turned false in rank 0 at \S+")
    assert turned.findall(found) == turned.findall(by_name) != []


@pytest.mark.parametrize("condition", ["level <", "level 4 <", "level::4 > 0"])
def test_what_cannot_be_read_is_refused(recorded: Recorded, condition: str) -> None:
    done = run_rdb(recorded.home, recorded.folder, "bisect", "job", condition)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "yntax error" in said, said


@pytest.mark.parametrize("quote", [same, *QUOTES])
@pytest.mark.parametrize("command", ["changes", "first", "last", "rdb-fields", "rdb-object"])
def test_an_expression_in_quotes_is_the_expression(
    session: Gdb, command: str, quote: object
) -> None:
    assert callable(quote)
    session.run("goto END")
    plain = session.run(f"{command} level")
    session.run("goto END")
    assert session.run(f"{command} {quote('level')}") == plain


@pytest.mark.parametrize("quote", [same, *QUOTES])
def test_names_in_quotes(session: Gdb, quote: object) -> None:
    assert callable(quote)
    session.run("goto END")
    assert session.run(f"calls {quote('half')}").replace("'half'", "half") == session.run(
        "calls half"
    )
    session.run(f"bookmark {quote('here')}")
    session.run(f"goto {quote('START')}")
    assert session.state()["at_start"]
    session.run(f"goto {quote('here')}")
    assert session.state()["at_end"]


def test_a_breakpoints_condition_in_quotes(recorded: Recorded, session: Gdb) -> None:
    session.run("goto START")
    session.run('break climb if "by == 5"')
    session.run("continue")
    assert session.value("by") == "5"
    session.run("delete")
    assert "is a constant" in session.run("break climb if 1 == 1")
    session.run("delete")


# The console, by a script.


FACES = (
    *("print", "display", "output", "watch", "plot", "print --stats", "defset none", "first"),
    *("last", "changes", "bisect", "find-event max((&edges)[0]@1) >"),
)
RAISING = ("level / (level - level)", "level + $_regex(level, word)")


@pytest.fixture(scope="module")
def console(recorded: Recorded, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the console answered, by the line that was typed."""
    folder = tmp_path_factory.mktemp("a folder")
    (folder / "one line.rdb").write_text("print 4711\n")
    lines = [f"print --stats {quote('level')}" for quote in (same, *QUOTES)]
    lines += [f"plot {quote('level')}" for quote in (same, *QUOTES)]
    lines += [f"find-event {quote(QUERY)} --count" for quote in (same, *QUOTES)]
    lines += [f"defset s{number} {quote('level > 1')}" for number, quote in
              enumerate((same, *QUOTES))]  # fmt: skip
    lines += ["defset s9 1 < 2", "find-event 'no such thing' --count", "bisect '1 < 2'"]
    lines += [f"watch {quote('level')}" for quote in (same, *QUOTES)]
    lines += [f"{command} {text}" for command in FACES for text in RAISING]
    lines += [f"focus {quote('s0')}" for quote in (same, single, double)]
    path = folder / "one line.rdb"
    lines += [f"source {one}" for one in (path, single(str(path)), double(str(path)),
                                          str(path).replace(" ", "\\ "))]  # fmt: skip
    done = deadlines.run(
        [sys.executable, "-m", "rdb", "attach", "job"],
        DEADLINE_S,
        cwd=folder,
        env={**os.environ, "RDB_HOME": str(recorded.home)},
        input="".join(f"{line}\n" for line in lines),
    )
    answers: dict[str, str] = {}
    typed = ""
    for one in done.stdout.splitlines():
        rest = one.partition("> ")[2] if one.startswith("job ") else ""
        if rest in map(str.strip, lines):
            typed = rest
            answers[typed] = ""
        elif typed:
            answers[typed] += one + "\n"
    assert set(answers) == set(map(str.strip, lines)), done.stdout + done.stderr
    return answers


@pytest.mark.parametrize("quote", QUOTES)
def test_in_the_console(console: dict[str, str], quote: object) -> None:
    assert callable(quote)
    for command in ("print --stats", "plot"):
        plain = console[f"{command} level"]
        assert "level" in plain and "error" not in plain
        shown = console[f"{command} {quote('level')}"]
        assert shown.replace(quote("level").strip(), "level").split() == plain.split()
    plain = console[f"find-event {QUERY} --count"]
    assert plain.startswith("0: 3 events")
    assert console[f"find-event {quote(QUERY)} --count"] == plain
    assert "(1 of 1)" in console[f"defset s{1 + QUOTES.index(quote)} {quote('level > 1')}"]


def test_constants_and_paths_in_the_console(console: dict[str, str]) -> None:
    assert "is a constant" in console["defset s9 1 < 2"]
    assert "error" in console["find-event 'no such thing' --count"]
    assert "is a constant" in console["bisect '1 < 2'"]
    sourced = [answer for line, answer in console.items() if line.startswith("source ")]
    assert len(sourced) == 4 and all("4711" in answer for answer in sourced)
    focused = [answer for line, answer in console.items() if line.startswith("focus ")]
    assert len(focused) == 3 and len(set(focused)) == 1 and "error" not in focused[0]


def test_a_watched_expression_in_quotes(console: dict[str, str]) -> None:
    for quote in (same, *QUOTES):
        said = console[f"watch {quote('level')}".strip()]
        assert re.search(r"[Ww]atchpoint \d+: (level|' level ')$", said, re.MULTILINE), said


@pytest.mark.parametrize("command", FACES)
def test_what_raises_has_no_value_in_any_face(console: dict[str, str], command: str) -> None:
    division, function = (console[f"{command} {text}"] for text in RAISING)
    assert "error" in division and "Division by zero" in division, division
    assert "error" in function and "string" in function, function


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("a", "a"), ("'a b'", "a b"), ('"a b"', "a b"), (r"a\ b", "a b"), ("a b", "a b"),
     ("it's", "it's"), ("", ""), ("''", ""), ("'a' b", "'a' b")],
)  # fmt: skip
def test_words(typed: str, meant: str) -> None:
    assert word(typed) == meant
    assert not Path(meant).is_absolute()

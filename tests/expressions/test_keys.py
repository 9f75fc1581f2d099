"""Elements of maps by their keys: what the program itself prints, in each command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, run_rdb
from gdbdriver import Gdb, in_console

# In the order in which step() prints them.
KEYS = [
    'sim::all.named["key 49"]',
    'sim::all.cells["key 7 and what makes it long"].n[1]',
    "sim::all.by_number[-25].mass",
    "sim::all.by_long[-30000000000]",
    "sim::all.by_byte[245]",
    "sim::all.by_char['C']",
    "sim::all.by_bool[true]",
    "sim::all.by_large[-3UL]",
    "sim::all.by_color[sim::Color::green]",
    'sim::all.by_view["view"]',
    "sim::all.falling[27]",
    'sim::all.open["key 0"]',
    r'sim::all.each[2]["say \"it\""]',
    "sim::all.pair[1][-5]",
    'sim::all.plain[1]["[x]"]',
    'sim::all.rows["row"][2]',
    'sim::all.nested["one"][4]',
    r'sim::all.each[sim::all.index + 1]["say \"it\""]',
    'sim::all.derived["key 11"]',
    "sim::all.named[sim::all.key]",
]
LOCALS = ["at->named[name]", "(*at).named[name]", "of.named[of.key] * 0 + at->named[name]"]
REFUSED = {
    'sim::all.named["none"]': 'The map has no key "none"',
    "sim::all.by_number[25]": "The map has no key 25",
    'sim::all.caseless["a"]': "The map compares keys by sim::Caseless, which rdb does not call",
    'sim::all.by_number["a"]': "The map has keys of type int, no texts",
    "sim::all.named[3]": "A value of type int is not a string",
}


@pytest.fixture(scope="module", params=["-O0", "-O2"])
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, build: Build
) -> Path:
    home = tmp_path_factory.mktemp("keys")
    done = run_rdb(home, home, "run", "--name", "job", "--", build("keys.cc", request.param))
    assert done.returncode == 0, done.stderr
    (home / "printed").write_text(done.stdout)
    return home


@pytest.fixture(scope="module")
def gdb(home: Path) -> Iterator[Gdb]:
    with Gdb("job", home=home) as session:
        yield session


def printed(home: Path) -> list[list[str]]:
    rows = [line.split() for line in (home / "printed").read_text().splitlines()]
    return [row for row in rows if len(row) == len(KEYS) + 1]


@pytest.mark.slow
def test_what_the_program_printed(gdb: Gdb, home: Path) -> None:
    gdb.run("goto start")
    for row in printed(home):
        gdb.run("find-event write --next")
        seen = [gdb.run(f"rdb-meant output {one}").strip() for one in KEYS]
        assert seen == row[:-1]
        if "name" in gdb.run("rdb-meant info locals"):
            for one in LOCALS:
                assert gdb.run(f"rdb-meant output {one}").strip().startswith(row[-1]), one


@pytest.mark.parametrize(("expression", "why"), REFUSED.items())
def test_what_has_no_element(gdb: Gdb, expression: str, why: str) -> None:
    before = gdb.run("when")
    assert gdb.fails(f"rdb-meant print {expression}").rstrip(".") == why
    assert gdb.run("when") == before


@pytest.mark.slow
def test_each_command(home: Path) -> None:
    late = 'sim::all.named["late"]'
    steps = [
        (f"last {late}", "Now = 1"),
        ("undo", ""),
        (f"bisect {late} < 1", 'without a value: The map has no key "late"'),
        ("goto end", ""),
        (f"display {late}", "1: .* = 1"),
        ("goto start", '= <error: The map has no key "late".>'),
        ("undisplay 1", ""),
        (f"break sim::step if {late} == 1", ""),
        ("continue", r"Breakpoint 1, .*i=.*4"),
        ("delete", ""),
        ('watch sim::all.named["key 1"]', 'watchpoint 2: sim::all.named."key 1"'),
        ("continue", "Old value = 4.5\nNew value = 5.5"),
        ("delete", ""),
        ('watch sim::all.named["key 2"] if sim::all.by_number[-25].mass > 4', ""),
        ("continue", "Old value = 7\nNew value = 8"),
        ("goto end", ""),
        ('plot sim::all.named["key 0"]', "5 "),
        ('changes sim::all.nested["one"][4]', "9 +10 +keys.cc"),
        ("first sim::all.falling[3]", "Now = 1"),
        ("goto end", ""),
        ('print max(sim::all.rows["row"]) + sim::all.named["key 0"]', "= 20"),
        ('print sim::all.texts["greets"] == "hello"', "= true"),
        ("origin sim::all.by_bool[true]", "main .. at .*computed"),
    ]
    said = in_console(home, "job", [command for command, _ in steps])
    for (command, expected), answer in zip(steps, said, strict=True):
        assert re.search(expected, answer) and "branch" not in answer, f"{command}: {answer}"


def test_at_gdbs_own_prompt(gdb: Gdb, home: Path) -> None:
    gdb.run("goto END")
    for one, value in zip(KEYS, printed(home)[-1], strict=False):
        said = gdb.run(f"display {one}")
        assert said.strip().endswith(f" = {value}"), said
    for one in REFUSED:
        assert "<error: " in gdb.run(f"display {one}")
    said = gdb.run('watch sim::all.named["key 1"]')
    assert "Watchpoint 1" in said and 'Much faster: rdb-meant watch sim::all.named["key 1"]' in said
    assert "in a branch" not in gdb.run("when")

"""find-event with scalars of each kind: as GDB itself says at each event."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build, Rdb
from gdbdriver import Gdb

OF_C = """
i8 < -20|u8 > 200|i16 < 0|u16 > 40000|i32 < -5|u32 > 3000000000|i64 < 0|u64 > 10000000000000000000
u64 == 2345678901234567891|f32 > 3.5|f32 == 0.3333333432674407958984375|f64 > 0.1|f64 < 0|f64 != f64
!(f64 > 0)|f80 > 3.3|f80 * 3 == 1|truth == 1|!truth|hue == BLUE|hue < 0|hue == 70000|glyph == 'c'
glyph > 100|part.f > 2|part.next->f < -2|part.b == 3|part.b & 1|part.s < -2|part.in.c[2] == 11
other.next == 0|*where > 1000|where == &i32|mine == 50|mine < -40|local > 4|local / 3 > turn - 5
turn % 7 == 3|turn%7==3|turn % 7 == 3 || f64 < 0|i32 / (turn + 1) > 5|sizeof(i64) == 8 && turn > 3
(char)i32 == 7|i8 + u8 > 100|u32 - 1 > 5|u8 << 3 > 1000|~i8 < 0|-i8 > 3|turn&1|turn & 1
i32 > 0 ? u8 > 10 : u8 < 10|*&i32 > 5|part.in.c[turn % 4] == 2|f32 * 1000000007 > i32|u64 * 3 > i64
kept[1] > 4|kept[1] > 4 && kept[0] < 5
&i32 == where && turn > 3|turn > 3 && &i32 == where|(turn) > 3|turn != 3 && turn != 4
"""
SHOWN = """
import json
def rdb_asked(texts):
    frame = gdb.newest_frame()
    while frame is not None and frame.name() != "step":
        frame = frame.older()
    if frame is None:
        return None
    frame.select()
    return [rdb_value(one) for one in texts]
def rdb_value(text):
    try:
        return bool(gdb.parse_and_eval(text))
    except gdb.error:
        return False
"""


@pytest.fixture(params=["-O0", "-O1"])
def gdb(request: pytest.FixtureRequest, rdb: Rdb, build: Build, rdb_home: Path) -> Iterator[Gdb]:
    program = build("scalars.c", request.param, "-fno-inline")
    done = rdb("run", "--name", "it", "--", program)
    assert done.returncode == 0, done.stderr
    with Gdb("it", home=rdb_home) as opened:
        yield opened


def test_as_gdb_says_at_each_event(
    gdb: Gdb, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """With -O1 some locals are in registers, and others at fixed places of their frames."""
    expressions = [one.strip() for one in re.split(r"(?<![|])[|](?![|])|\n", OF_C.strip())]
    if request.node.callspec.params["gdb"] != "-O0":
        expressions = [one for one in expressions if re.search("mine|local|turn|kept", one)]
    helper = tmp_path / "helper.py"
    helper.write_text(SHOWN, "utf-8")
    gdb.run(f"source {helper}")
    counts = [0] * len(expressions)
    first = last = -1
    gdb.run("goto end")
    for event in range(int(re.findall(r"\d+", gdb.run("when"))[0]) + 1):
        gdb.run(f"goto {event}")
        said = gdb.run(f"python print(json.dumps(rdb_asked({expressions!r})))")
        judged = json.loads(said.splitlines()[-1])
        if judged is None:
            continue
        first, last = event if first < 0 else first, event
        counts = [count + one for count, one in zip(counts, judged, strict=True)]
    wrong = []
    for expression, count in zip(expressions, counts, strict=True):
        query = f"event >= {first} and event <= {last} and {expression}"
        found = re.match(r"(\d+) event", gdb.run(f"find-event {query} --count"))
        assert found is not None
        if int(found[1]) != count:
            wrong.append((expression, count, found[1]))
    assert not wrong
    assert all(count in range(2 * 9 + 1) for count in counts) and len(set(counts)) > 4

"""bisect in each language, however it was compiled: the statement, or that nobody knows."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PROGRAMS
from gdbdriver import Recorded

from languages import check_marked
from languages.compilers import COMPILERS, Way

pytestmark = pytest.mark.languages

EVERY = os.environ.get("RDB_TEST_LANGUAGES") == "all"
CASES = [(name, way) for name, one in COMPILERS.items() for way in one.ways(EVERY)]


@pytest.mark.parametrize(
    ("name", "way"), CASES, ids=[f"{name}-{'-'.join(way)}" for name, way in CASES]
)
def test_bisect(
    tmp_path: Path, name: str, way: Way, record_property: Callable[[str, object], None]
) -> None:
    compiler = COMPILERS[name]
    source = PROGRAMS / "languages" / compiler.source
    program = compiler.build(source, tmp_path, way)
    options = ("-n", str(compiler.ranks)) if compiler.ranks else ()
    recorded = Recorded(tmp_path, program, source, options=options)
    said = check_marked(recorded, source, "O0" not in way, compiler.incomplete)
    counts = Counter(said.values())
    record_property("languages", (name, way[0], dict(counts)))

"""The folders of the C core: what CI says when a lower one uses a symbol of a higher one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import layers

ROOT = Path(__file__).parent.parent


def test_rdb_exec_has_no_upward_use() -> None:
    said = layers.upward(layers.uses(ROOT / "build"), layers.order())
    assert not said, "\n".join(said)


@pytest.fixture
def uses(tmp_path: Path) -> list[layers.Use]:
    """Those of two objects of which each uses the other."""
    made = []
    for folder, text in (
        ("low", "void high(void);\nvoid low(void) { high(); }\n"),
        ("high", "void low(void);\nvoid high(void) { low(); }\n"),
    ):
        source = tmp_path / "interposer" / folder / "a.c"
        source.parent.mkdir(parents=True)
        source.write_text(text)
        output = Path("rdb-exec.p") / f"{folder}_a.c.o"
        (tmp_path / output).parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-c", source, "-o", tmp_path / output], check=True)
        made.append({"directory": str(tmp_path), "file": str(source), "output": str(output)})
    (tmp_path / "compile_commands.json").write_text(json.dumps(made))
    return layers.uses(tmp_path)


def test_upward_uses(uses: list[layers.Use]) -> None:
    assert layers.upward(uses, ["low", "high"]) == [
        "low/a.c uses high of high/a.c, which is above it"
    ]
    assert layers.upward(uses, ["high", "low"]) == [
        "high/a.c uses low of low/a.c, which is above it"
    ]
    assert layers.largest_cycle(uses) == {"low/a.c", "high/a.c"}

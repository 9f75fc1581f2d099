"""The folders of the C core: what CI says when a lower one uses a higher one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tools import layers

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("library", layers.LIBRARIES, ids=lambda one: "/".join(one.targets[:1]))
def test_nothing_is_against_the_layers(library: layers.Library) -> None:
    said = layers.wrong(ROOT / "build", library)
    assert not said, "\n".join(said)


def _built(tmp_path: Path, **texts: str) -> Path:
    """A build of the object a.c in each of these folders."""
    made = []
    for folder, text in texts.items():
        source = tmp_path / "interposer" / folder / "a.c"
        source.parent.mkdir(parents=True)
        source.write_text(text)
        output = Path("rdb-exec.p") / f"{folder}_a.c.o"
        (tmp_path / output).parent.mkdir(exist_ok=True)
        subprocess.run(["gcc", "-c", source, "-o", tmp_path / output], check=True)
        made.append({"directory": str(tmp_path), "file": str(source), "output": str(output)})
    (tmp_path / "compile_commands.json").write_text(json.dumps(made))
    return tmp_path


@pytest.fixture
def uses(tmp_path: Path) -> list[layers.Use]:
    """Those of two objects of which each uses the other."""
    return layers.uses(
        _built(
            tmp_path,
            low="void high(void);\nvoid low(void) { high(); }\n",
            high="void low(void);\nvoid high(void) { low(); }\n",
        )
    )


def test_upward_uses(uses: list[layers.Use]) -> None:
    assert layers.upward(uses, ["low", "high"]) == [
        "low/a.c uses high of high/a.c, which is above it"
    ]
    assert layers.upward(uses, ["high", "low"]) == [
        "high/a.c uses low of low/a.c, which is above it"
    ]
    assert layers.largest_cycle(uses) == {"low/a.c", "high/a.c"}


@pytest.fixture
def heap_user(tmp_path: Path) -> Path:
    """A build of two objects; low/a.c uses the heap."""
    return _built(
        tmp_path,
        low="void *malloc(unsigned long n);\nvoid *low(void) { return malloc(1); }\n",
        high="void high(void) {}\n",
    )


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (["low"], []),
        (["low/a.c"], []),
        (["high"], ["low/a.c uses malloc, and has no line `heap` in LAYERS", "high needs no heap"]),
        (["low", "high"], ["high needs no heap"]),
    ],
)
def test_the_heap(heap_user: Path, allowed: list[str], said: list[str]) -> None:
    assert layers.heap(heap_user, layers.LIBRARIES[0], allowed) == said


def test_upward_includes(tmp_path: Path) -> None:
    for name, text in (
        ("low/a.c", '#include "low/in/a.h"\n#include "high/a.h"\n'),
        ("low/in/a.h", '#include "low/b.h"\n#include "unlisted/a.h"\n'),
        ("high/a.h", '#include "low/a.h"\n'),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert layers.includes(tmp_path, ["low/in", "low", "high"]) == [
        "low/a.c includes high/a.h, which is above it",
        "low/in/a.h includes low/b.h, which is above it",
    ]


def test_what_is_one_machines_is_as_high_as_its_layer(tmp_path: Path) -> None:
    for name, text in {
        "low/a.c": '#include "arch/b.h"\n#include "arch/c.h"\n',
        "arch/b.h": '#include "arch/x86_64/low/b.h"\n',
        "arch/c.h": '#include "arch/x86_64/high/c.h"\n',
        "arch/x86_64/low/b.c": '#include "high/c.h"\n',
        "arch/x86_64/high/c.c": '#include "low/b.h"\n',
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert layers.includes(tmp_path, ["low", "high"]) == [
        "arch/x86_64/low/b.c includes high/c.h, which is above it",
        "low/a.c includes arch/c.h, which is above it",
    ]

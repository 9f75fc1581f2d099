"""Members of a C++ object while a function in C runs, where GDB writes types as C does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import run_rdb

_C = """
#include <sys/syscall.h>
void looks(void)
{
    long nr = SYS_getppid;
    asm volatile("syscall" : "+a"(nr) : : "rcx", "r11", "memory");
}
"""
_CC = """
extern "C" void looks();
namespace a {
template <class T> struct Field {
    void step(T n)
    {
        held = n == 3 ? -1 : n; // the third
        looks();
    }
    T held = 1;
};
}
int main()
{
    a::Field<int> field;
    for (int n = 1; n < 6; n++)
        field.step(n);
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_a_member(tmp_path: Path, build_text: Callable[..., Path], level: str) -> None:
    library = build_text("looks", _C, level, "-fPIC", "-shared")
    flags = ("-fno-inline", str(library), f"-Wl,-rpath,{tmp_path}")
    program = build_text("field", _CC, level, *flags, compiler="g++")
    done = run_rdb(tmp_path, tmp_path, "run", "--name", "job", "--", program)
    assert done.returncode == 0, done.stderr
    done = run_rdb(tmp_path, tmp_path, "bisect", "job", "held > 0", "--json")
    (found,) = json.loads(done.stdout)["found"]
    third = next(n for n, line in enumerate(_CC.splitlines(), 1) if "the third" in line)
    assert found["line"] == third and found["verified_before"] and found["verified_after"]
    done = run_rdb(tmp_path, tmp_path, "find-event", "job", "held < 0", "--count")
    assert done.stdout.split() == ["RANK", "EVENTS", "0", "1"], done.stdout + done.stderr

"""The real provider alone, called as the plug-in calls it, on soft-RoCE."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import PROGRAMS, Build

from rdb.paths import rdb_exec_path
from vm.guest import Guest

pytestmark = pytest.mark.rdma
INTERPOSER = Path(__file__).resolve().parents[2] / "interposer"


def test_what_each_call_does(alone: Guest, build: Build) -> None:
    program = build("verbs_provider.c", f"-I{INTERPOSER / 'verbs'}", "-libverbs")
    provider = Path(rdb_exec_path()).parent / "verbs/real/verbs-real.so"
    before = alone.sent_packets()
    ran = alone.run(f"{program} {provider} rdb_verbs_real 1")
    assert ran.code == 0, ran.text
    assert ran.out == (PROGRAMS / "verbs_provider.expected").read_text()
    assert alone.sent_packets() - before > 20

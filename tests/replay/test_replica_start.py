"""A replica that cannot be started: the error says why, and no descriptor stays."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import socket
from typing import Any

import pytest
from conftest import Build
from deadlines import wait_for
from faults import Rank

from rdb.errors import VersionMismatch
from rdb.recording import RankRecording
from rdb.replay import protocol
from rdb.replay.replica import Replica, unreaped


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory, build: Build) -> RankRecording:
    rank = Rank.make(tmp_path_factory.mktemp("start"))
    assert rank.record(build("calls_storm.c", "-O1"), "1", "10") == 0
    recording = RankRecording(rank.path, rank.files)
    Replica.start(recording).close()  # it has been read then
    wait_for("all replicas are gone", lambda: not unreaped())
    return recording


def descriptors() -> list[str]:
    gc.collect()  # what earlier tests left is not to be closed in the middle of one
    return sorted(os.listdir("/proc/self/fd"))


def test_another_protocol_is_named(
    recording: RankRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = descriptors()
    monkeypatch.setattr(protocol, "VERSION", protocol.VERSION + 1)
    with pytest.raises(VersionMismatch, match="the replica speaks protocol"):
        Replica.start(recording)
    assert descriptors() == before


@pytest.mark.parametrize(
    ("where", "name"),
    [(os, "pipe"), (fcntl, "fcntl"), (socket, "socketpair"), (os, "memfd_create")],
)
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_no_descriptor_is_left(
    recording: RankRecording, monkeypatch: pytest.MonkeyPatch, where: Any, name: str
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    before = descriptors()
    with monkeypatch.context() as broken:
        broken.setattr(where, name, full)
        with pytest.raises(OSError, match="Too many open files"):
            Replica.start(recording)
    assert descriptors() == before
    Replica.start(recording).close()
    wait_for("all replicas are gone", lambda: not unreaped())
    assert descriptors() == before

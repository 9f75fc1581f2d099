"""Work of many ranks side by side: answers in order, errors, workers that die."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.synchronize import SemLock
from pathlib import Path
from typing import Any

import deadlines
import pytest
from conftest import Rdb

from rdb import executor
from rdb.cli import main, on
from rdb.errors import MissingTool, RdbError, Usage
from rdb.executor import Processes
from rdb.recording import Job, open_job


@pytest.mark.parametrize("jobs", [1, 2, 3, 9])
@pytest.mark.parametrize("count", [0, 1, 2, 20])
def test_answers_in_order(jobs: int, count: int) -> None:
    lock = threading.Lock()  # what cannot be pickled
    items = [(one, lock) for one in range(count)]
    found = Processes("rank", jobs).map(lambda item: (item[0], os.getpid()), items)
    answers = list(found)
    assert [one for one, _ in answers] == list(range(count))
    several = jobs > 1 and count > 1
    assert (os.getpid() not in {pid for _, pid in answers}) == (several or not count)


def test_each_answer_as_soon_as_it_is_there(tmp_path: Path) -> None:
    go = tmp_path / "go"

    def wait(rank: int) -> int:
        if rank:
            deadlines.wait_for("the first answer", go.exists)
        return rank

    found = Processes("rank", 2).map(wait, [0, 1])
    assert next(found) == 0
    go.touch()
    assert list(found) == [1]


def test_an_error_is_raised_with_its_hint() -> None:
    def refuse(rank: int) -> int:
        raise Usage(f"rank {rank} is wrong", "take another")

    with pytest.raises(Usage, match="rank 0 is wrong") as raised:
        list(Processes("rank", 2).map(refuse, [0, 1]))
    assert raised.value.hint == "take another"


def test_a_worker_may_be_ended_when_it_has_the_lock_for_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rank 1 answers when the error of rank 0 has ended it: it left the lock of the answers taken,
    and waited for it itself."""
    enter, ended = SemLock.__enter__, {signal.SIGTERM}

    def take(lock: Any) -> Any:
        # The other worker may have been ended with the lock, too: this one then ends here.
        taken = lock.acquire(timeout=1)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ended)
        return taken or enter(lock)

    def work(rank: int) -> int:
        if rank == 0:
            raise Usage("rank 0 is wrong")
        monkeypatch.setattr(SemLock, "__enter__", take)
        signal.pthread_sigmask(signal.SIG_BLOCK, ended)
        deadlines.wait_for("its end", lambda: signal.sigpending() >= ended)
        return rank

    def too_late(*_: object) -> None:
        raise AssertionError("a worker does not end")

    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(120)
    try:
        with pytest.raises(Usage, match="rank 0 is wrong"):
            list(Processes("rank", 2).map(work, [0, 1]))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_a_worker_that_dies_is_one_line() -> None:
    def die(rank: int) -> int:
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return rank

    with pytest.raises(RdbError, match=r"a worker process was killed; rank [01] has no answer"):
        list(Processes("rank", 2).map(die, [0, 1]))


def test_who_waits_long_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(executor, "_SAY_S", 0.01)
    said = ""

    def wait(rank: int) -> int:
        deadlines.wait_for("a line", (tmp_path / "said").exists)
        return rank

    def hear() -> None:
        nonlocal said
        while "0 of 2 ranks done" not in said:
            said += capfd.readouterr().err
        (tmp_path / "said").touch()

    ear = threading.Thread(target=hear)
    work = Processes("rank", 2).map(wait, [0, 1])
    ear.start()
    assert list(work) == [0, 1]
    ear.join()


class Carried:
    """As bytes, as to workers on other hosts and back."""

    def __init__(self, what: str) -> None:
        pass

    def map(self, function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        for item in items:
            work, one = pickle.loads(pickle.dumps((function, item)))
            yield pickle.loads(pickle.dumps(work(one)))


def test_work_can_be_carried_to_other_hosts(
    rdb: Rdb,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = ["run", "--name", "job", "--hash-every", "5", "--", "/bin/sh", "-c", "/bin/echo; true"]
    assert rdb(*line).returncode == 0
    for words in (
        ["replay", "job"],
        ["find-event", "job", "write"],
        ["find-event", "job", "source==7"],
        ["messages", "job"],
        ["timeline", "job", "-o", str(tmp_path / "page")],
    ):
        code, said = main(words), capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(on, "Processes", Carried)
            assert (main(words), capsys.readouterr()) == (code, said)
        assert said.out or code == 1
    damage = open_job("job").path / "rank-0/log-000000.seg"
    damage.write_bytes(b"no log")
    monkeypatch.setattr(on, "Processes", Carried)
    for words in (["replay", "job"], ["find-event", "job", "write"], ["messages", "job"]):
        assert main(words) == 5


def test_without_dask_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "rdb.dask", raising=False)
    job = Job(Path("job"))
    with pytest.raises(MissingTool) as raised, on.workers(job, None, "dask:head:8786", "rank"):
        pass
    assert raised.value.line().startswith("rdb: --on needs Dask: ")
    assert raised.value.line().endswith("; pip install 'rdb[dask]'")
    for wrong in ("", "dask", "dask:", "nothing:head:8786"):
        with pytest.raises(Usage, match="--on"), on.workers(job, None, wrong, "rank"):
            pass

"""rdb restart of one process with verbs, at the steps that it says: each goes on as it did, and so
does a branch of that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Build, run_rdb

from rdb.recording import open_job

TWO = """
#include <infiniband/verbs.h>
#include <stdio.h>
int main(void)
{
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *one = ibv_open_device(*devices), *other = ibv_open_device(*devices);
    struct ibv_cq *cq = ibv_create_cq(one, 4, NULL, NULL, 0);
    ibv_create_cq(other, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr made = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
                                    .cap = {.max_recv_wr = 4, .max_send_wr = 4,
                                            .max_recv_sge = 1, .max_send_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(ibv_alloc_pd(one), &made);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
    printf("init %d\\n", ibv_modify_qp(qp, &attr, mask));
    fflush(stdout);
    printf("closed %d\\n", ibv_close_device(other));
    fflush(stdout);
    struct ibv_recv_wr receive = {.wr_id = 7}, *bad;
    printf("posted %d\\n", ibv_post_recv(qp, &receive, &bad));
    fflush(stdout);
    printf("destroyed %d\\n", ibv_destroy_qp(qp));
    return ibv_close_device(one);
}
"""


class Steps:
    """A program that writes a line after each step."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        done = run_rdb(self.home, folder, "run", "--hca=soft", "--name", "all", "--", str(program))
        assert done.returncode == 0, done.stderr
        self.lines = done.stdout.splitlines()
        recording = open_job(self.home / "all").rank(0)
        self.events = [
            one.event
            for one in recording.records()
            if one.kind.is_event and recording.describe(one.event).startswith("write(1,")
        ]
        assert len(self.events) == len(self.lines)

    def after(self, line: str, name: str) -> None:
        """It goes on after that line, and says all that comes behind it."""
        at = self.lines.index(line)
        self.goes_on("all", self.events[at], name, self.lines[at + 1 :])

    def again(self, branch: str, line: str, name: str) -> None:
        """And the branch that went on there, from its beginning."""
        self.goes_on(branch, 0, name, self.lines[self.lines.index(line) + 1 :])

    def goes_on(self, job: str, event: int, name: str, lines: list[str]) -> None:
        done = run_rdb(self.home, self.folder, "restart", job, "--at", str(event), "--name", name)
        assert done.returncode == 0, (job, event, done.stderr)
        assert done.stdout.splitlines() == lines
        verified = run_rdb(self.home, self.folder, "replay", name, "--verify")
        assert verified.returncode == 0, verified.stderr


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Steps:
    return Steps(tmp_path_factory.mktemp("events"), build("verbs_events.c", "-O1", "-libverbs"))


def test_a_limit_that_was_not_reached_is_reached_later(events: Steps) -> None:
    events.after("armed", "armed")


def test_events_that_nobody_has_asked_for_are_there(events: Steps) -> None:
    assert events.lines[-4:-1] == [
        "refused",
        "local access violation work queue error",
        "last WQE reached",
    ]
    events.after("refused", "refused")
    events.again("refused", "refused", "again")


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Steps:
    return Steps(tmp_path_factory.mktemp("joined"), build("verbs_joined.c", "-O1", "-libverbs"))


def test_it_is_in_its_multicast_group_again(joined: Steps) -> None:
    """It leaves the group, which only who is in it can."""
    joined.after("joined", "joined")
    joined.again("joined", "joined", "again")


def test_a_window_is_bound_again(joined: Steps) -> None:
    """Under the key that the program knows; so it is when it binds it once more."""
    joined.after("bound", "bound")
    joined.again("bound", "bound", "bound-2")
    joined.after("bound again", "later")


def test_a_context_that_is_closed_ends_its_own_objects_alone(
    tmp_path: Path, build_text: Callable[..., Path]
) -> None:
    two = Steps(tmp_path, build_text("two", TWO, "-libverbs"))
    assert two.lines == ["init 0", "closed 0", "posted 0", "destroyed 0"]
    recording = open_job(two.home / "all").rank(0)
    assert len(recording.verbs(two.events[1]).completion_queues) == 1
    assert [one.state for one in recording.verbs(two.events[2]).queue_pairs.values()] == ["INIT"]
    assert not recording.verbs().queue_pairs
    two.after("init 0", "init")
    two.again("init", "init 0", "again")
    two.after("posted 0", "posted")

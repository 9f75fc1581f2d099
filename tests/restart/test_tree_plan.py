"""Where each process of a tree is at a cut, by the logs of processes that nobody ran.

An answer is logged after it was given, so times are nearly an order, but not quite.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fake_processes import (
    AT,
    CHLD,
    CLONE,
    CLOSE,
    CLOSE_RANGE,
    DUP,
    DUP2,
    DUP3,
    FCNTL,
    FORK,
    GETPPID,
    KILL,
    KILLED,
    LSEEK,
    OPENAT,
    READ,
    SENDFILE,
    TERM,
    VFORK,
    WAIT4,
    WAITID,
    WRITE,
    Entry,
    Log,
    opened,
    places,
)

from rdb.errors import RdbError
from rdb.live.tree.open_files import follow
from rdb.live.tree.plan import TreePlan, plan_tree, write_tree
from rdb.live.tree.processes import Tree
from rdb.recording import EndKind, Kind

CLOEXEC, F_SETFD, F_DUPFD_CLOEXEC, RANGE_CLOEXEC = 0o2000000, 2, 1030, 4
INOTIFY_INIT1 = 294


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    """Of the first process: it has made a pipe (3 and 4) at its first event."""
    monkeypatch.setattr("rdb.live.tree.processes.RankRecording", opened)
    Log.made.clear()
    log = Log(tmp_path / "rank-0", 100, 0)
    log.pipe(10, 3, 4)
    return log


def fork(log: Log, at_ns: int, number: int, pid: int, begins_ns: int | None = None) -> Log:
    log.call(at_ns, FORK, result=pid)
    return log.child(number, pid, at_ns + 1 if begins_ns is None else begins_ns)


def planned(top: Log, event: int) -> TreePlan:
    plan = plan_tree(top, event)  # type: ignore[arg-type]
    assert plan is not None
    return plan


def at(top: Log, event: int) -> dict[str, int]:
    return dict(places(planned(top, event)))


def refusal(top: Log, event: int) -> str:
    with pytest.raises(RdbError) as refused:
        plan_tree(top, event)  # type: ignore[arg-type]
    return str(refused.value)


# ---- what orders events ----


def test_who_has_read_comes_after_the_write_and_no_other(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    writes = [child.call(when, WRITE, 4, result=5) for when in (30, 60, 70)]
    read = top.call(50, READ, 3, result=10)
    assert at(top, read)["0.1"] == writes[1]
    assert at(top, read - 1)["0.1"] == 0


def test_who_reads_second_comes_after_the_first(top: Log) -> None:
    top.pipe(12, 5, 6)
    first, second = fork(top, 20, 1, 101), fork(top, 22, 2, 102)
    top.call(28, WRITE, 4, result=10)
    read = first.call(50, READ, 3, result=5)
    second.call(60, READ, 3, result=5)
    wrote = second.call(62, WRITE, 6, result=1)
    assert at(top, top.call(45, GETPPID))["0.1"] < read
    got = at(top, top.call(46, READ, 5, result=1))
    assert (got["0.2"], got["0.1"]) == (wrote, read)


def test_the_end_of_a_pipe_comes_after_all_that_could_write(top: Log) -> None:
    closes, ends = fork(top, 20, 1, 101), fork(top, 22, 2, 102)
    top.call(24, CLOSE, 4)
    closed = closes.call(60, CLOSE, 4)
    closes.call(61, GETPPID)
    ends.ended(60, 0)
    got = at(top, top.call(50, READ, 3, result=0))
    assert (got["0.1"], got["0.2"]) == (closed, 1)


def test_who_was_waited_for_has_ended(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    child.call(30, GETPPID)
    child.ended(60, 0)
    top.call(40, WAIT4, result=-10)
    waits = top.call(50, WAIT4, 101, result=101)
    assert at(top, waits - 1)["0.1"] == 1
    assert plan_tree(top, waits) is None  # type: ignore[arg-type]


def test_who_was_only_looked_at_is_still_there(top: Log) -> None:
    fork(top, 20, 1, 101).ended(30, 0)
    info = bytes(16) + (101).to_bytes(8, "little")
    looked = top.call(40, WAITID, 0, 0, AT, 0x01000000 | 4, wrote=info)
    assert [one.name for one in planned(top, looked).zombies] == ["0.1"]
    waits = top.call(50, WAITID, 0, 0, AT, 4, wrote=info)
    assert plan_tree(top, waits) is None  # type: ignore[arg-type]


def test_a_wait_that_asks_for_nothing_but_the_end(top: Log) -> None:
    """waitid(P_PID, 101, NULL, WEXITED)"""
    fork(top, 20, 1, 101).ended(30, 0)
    waits = top.call(40, WAITID, 1, 101, 0, 4)
    assert plan_tree(top, waits) is None  # type: ignore[arg-type]


def test_a_signal_comes_after_what_sent_it(top: Log) -> None:
    ends, sends = fork(top, 20, 1, 101), fork(top, 22, 2, 102)
    ends.ended(60, 0)
    sent = sends.call(60, KILL, 100, TERM)
    sends.call(61, GETPPID)
    sends.call(62, KILL, 100, TERM)
    told = top.signal(50, CHLD, 1, 101)
    assert at(top, told)["0.1"] == 1 and at(top, told)["0.2"] == 0
    assert at(top, top.signal(51, TERM, 0, 102))["0.2"] == sent


@pytest.mark.parametrize("becomes", [True, False])
@pytest.mark.parametrize("how", [(VFORK, 0), (CLONE, 0x4000 | CHLD)])
def test_vfork_waits_for_the_next_program_or_the_end(
    top: Log, how: tuple[int, int], becomes: bool
) -> None:
    made = top.call(50, *how, result=101)
    child = top.child(1, 101, 20)
    child.call(55, GETPPID)
    if becomes:
        child.becomes(60).call(70, GETPPID)
    else:
        child.ended(60, 0)
    assert at(top, made)["0.1"] == 2  # the beginning of the second program, or the end
    assert plan_tree(top, made - 1) is None  # type: ignore[arg-type]


def test_a_process_begins_after_its_parent_made_it(top: Log) -> None:
    """Also one of whose write the first has heard by then."""
    child = fork(top, 20, 1, 101)
    made = child.call(60, FORK, result=201)
    grandchild = child.child(1, 201, 41)
    wrote = grandchild.call(42, WRITE, 4, result=1)
    got = at(top, top.call(50, READ, 3, result=1))
    assert (got["0.1"], got["0.1.1"]) == (made, wrote)


def test_who_heard_of_what_is_still_to_come_is_where_it_had_not(top: Log) -> None:
    top.pipe(12, 5, 6)
    last, middle, first = (fork(top, 20 + n, n, 100 + n) for n in (1, 2, 3))
    first.call(105, WRITE, 4, result=1)
    heard = middle.call(95, READ, 3, result=1)
    middle.call(96, WRITE, 6, result=1)
    told = last.call(97, READ, 5, result=1)
    got = at(top, top.call(100, GETPPID))
    assert (got["0.1"], got["0.2"], got["0.3"]) == (told - 1, heard - 1, 0)


def test_what_the_first_heard_of_its_own_later_doing_is_another_cut(top: Log) -> None:
    """By two threads: the answer to the one comes before that of the other."""
    top.pipe(12, 5, 6)
    child = fork(top, 20, 1, 101)
    read = top.call(50, READ, 5, result=1)
    wrote = top.call(51, WRITE, 4, result=1)
    child.call(48, READ, 3, result=1)
    child.call(49, WRITE, 6, result=1)
    assert "it depends on what another process did later" in refusal(top, read)
    assert at(top, wrote)["0.1"] == 2


# ---- who is there ----


def test_children_are_numbered_by_calls_that_make_processes(top: Log) -> None:
    top.call(20, FORK, result=-11)
    top.call(21, CLONE, 0x10000, result=77)
    top.call(22, CLONE, CHLD, result=102)
    top.child(2, 102, 23).call(30, GETPPID)
    (child,) = Tree(top).top.children  # type: ignore[arg-type]
    assert (child.pid, child.name, child.fork_event) == (102, "0.1", 4)


@pytest.mark.parametrize(
    ("kind", "value", "status"),
    [(EndKind.EXIT, 3, 3 << 8), (EndKind.EXIT, -1, 0xFF00), (EndKind.SIGNAL, TERM, TERM)],
)
def test_the_status_that_a_parent_gets(top: Log, kind: EndKind, value: int, status: int) -> None:
    fork(top, 20, 1, 101).ended(30, value, kind)
    killed = fork(top, 40, 2, 102)
    killed.call(50, GETPPID)
    statuses = [one.status for one in planned(top, top.call(60, GETPPID)).made[1:]]
    assert statuses == [status, KILLED]


def test_who_has_ended_waits_to_be_waited_for(top: Log) -> None:
    fork(top, 20, 1, 101).ended(30, 0)
    before = top.call(40, GETPPID)
    told = top.signal(50, CHLD, 1, 101)
    plan = planned(top, before)
    assert [one.name for one in plan.zombies] == ["0.1"] and not plan.told
    assert planned(top, told).told


def test_a_branch_of_a_tree_is_refused(top: Log) -> None:
    fork(top, 20, 1, 101)
    (top.path / "tree-began").touch()
    assert "began with other processes" in refusal(top, top.last_event)


def test_whose_parent_has_ended_or_replaced_itself(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    fork(child, 30, 1, 201).call(90, GETPPID)
    child.call(32, GETPPID)
    assert set(at(top, top.call(35, GETPPID))) == {"0", "0.1", "0.1.1"}
    child.becomes(40).ended(60, 0)
    assert "its parent has executed another program" in refusal(top, top.call(50, GETPPID))
    plan = planned(top, top.call(70, GETPPID))
    (left,) = (node for node in plan.lives if plan.adopter(node) is not None)
    assert left.name == "0.1.1" and plan.child(left) == 2
    assert {node.name for node in plan.counts} == {"0.1"}


def test_what_a_child_has_that_cannot_be_brought_back(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    child.call(60, INOTIFY_INIT1, result=7)
    assert planned(top, top.call(30, GETPPID))
    made = refusal(top, top.call(70, GETPPID))
    assert "rank 0.1 cannot be restarted at event 1: its descriptor 7 is an inotify queue" in made
    child.entries.append(Entry(Kind.HYPERCALL, 3, 80, 1 << 16 | 5))
    assert "it has called MPI or verbs" in refusal(top, top.call(90, GETPPID))


def test_a_signal_on_its_way_is_refused(top: Log) -> None:
    gets, dies, killed = (fork(top, 20 + n, n, 100 + n) for n in (1, 2, 3))
    before = top.call(30, GETPPID)
    asks = top.call(31, KILL, 101, 0)
    first = top.call(32, KILL, 101, TERM)
    gets.signal(40, TERM, 0, 100)
    got = top.call(45, GETPPID)
    second = top.call(50, KILL, 102, TERM)
    dies.ended(60, TERM, EndKind.SIGNAL)
    dead = top.call(65, GETPPID)
    top.call(66, KILL, 103, TERM, result=-3)
    failed = top.call(67, GETPPID)
    third = top.call(70, KILL, 103, KILLED)
    killed.call(68, GETPPID)
    gets.call(75, GETPPID)
    for event in (before, asks, got, dead, failed):
        assert planned(top, event)
    for event, name in ((first, "0.1"), (second, "0.2"), (third, "0.3")):
        said = refusal(top, event)
        assert f"process {name} cannot" in said and "from process 0 is not delivered yet" in said


def test_a_signal_is_got_before_its_kill_is_answered(top: Log) -> None:
    gets = fork(top, 20, 1, 101)
    for answered, taken in ((32, 40), (60, 55), (80, 85)):
        top.call(answered, KILL, 101, TERM)
        gets.signal(taken, TERM, 0, 100)
        looks = top.call(answered + 12, GETPPID)
        if answered == 60:
            second = looks
    gets.call(95, GETPPID)
    assert at(top, second)["0.1"] == 2
    assert "is not delivered yet" in refusal(top, looks - 1)


def test_a_signal_to_the_first_process(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    child.call(40, KILL, 100, TERM)
    child.call(60, KILL, 100, TERM)
    early = top.call(50, GETPPID)
    first = top.signal(55, TERM, 0, 101)
    late = top.call(57, GETPPID)
    top.signal(58, TERM, 0, 101)  # its second, whose answer is still to be logged
    assert "process 0 cannot be restarted" in refusal(top, early)
    assert at(top, first)["0.1"] == at(top, late)["0.1"] == 1
    assert at(top, late + 1)["0.1"] == 2


# ---- what they had open ----


def close(child: Log) -> int:
    return child.call(30, CLOSE, 4)


def close_range(child: Log) -> int:
    return child.call(30, CLOSE_RANGE, 3, 9)


def close_another(child: Log) -> int:
    child.call(30, CLOSE_RANGE, 5, 9)
    child.becomes(40).call(41, CLOSE, 3)
    return 4


def close_duplicate(child: Log) -> int:
    child.call(30, DUP, 4, result=7)
    child.call(31, CLOSE, 4)
    return child.call(32, CLOSE, 7)


def replace(child: Log) -> int:
    child.call(30, DUP2, 4, 4, result=4)
    return child.call(31, DUP2, 1, 4, result=4)


def duplicate_stays(child: Log) -> int:
    child.call(30, DUP2, 4, 7, result=7)
    child.call(31, CLOSE, 4)
    child.becomes(40).ended(50, 0)
    return 4


def setfd(child: Log) -> int:
    child.call(30, FCNTL, 4, F_SETFD, 1)
    child.becomes(40).ended(50, 0)
    return 2


def setfd_not(child: Log) -> int:
    child.call(30, FCNTL, 4, F_SETFD, 1)
    child.call(31, FCNTL, 4, F_SETFD, 0)
    child.becomes(40).ended(50, 0)
    return 4


def range_cloexec(child: Log) -> int:
    child.call(30, CLOSE_RANGE, 0, 9, RANGE_CLOEXEC)
    child.becomes(40).ended(50, 0)
    return 2


def dup3(child: Log) -> int:
    child.call(30, DUP3, 4, 7, CLOEXEC, result=7)
    child.call(31, CLOSE, 4)
    child.becomes(40).ended(50, 0)
    return 3


def dupfd(child: Log) -> int:
    child.call(30, FCNTL, 4, F_DUPFD_CLOEXEC, 7, result=7)
    child.call(31, CLOSE, 4)
    child.becomes(40).ended(50, 0)
    return 3


@pytest.mark.parametrize(
    "does",
    [
        *(close, close_range, close_another, close_duplicate, replace, duplicate_stays, setfd),
        *(setfd_not, range_cloexec, dup3, dupfd),
    ],
)
def test_when_a_child_cannot_write_any_more(top: Log, does: Callable[[Log], int]) -> None:
    until = does(fork(top, 20, 1, 101))
    tree = Tree(top)  # type: ignore[arg-type]
    ((held, ends),) = tree.held.items()
    assert held.pipe and {one.name: place for one, place in ends.writers.items()} == {
        "0": tree.top.over,
        "0.1": until,
    }


def test_pipes_that_are_closed_by_a_program_that_follows(top: Log) -> None:
    top.pipe(12, 5, 6, CLOEXEC)
    child = fork(top, 20, 1, 101)
    child.call(22, OPENAT, 0, 0, CLOEXEC, result=8)
    child.call(23, OPENAT, 0, 0, 0, result=9)
    child.becomes(40).call(50, GETPPID)
    tree = Tree(top)  # type: ignore[arg-type]
    (one,) = tree.top.children
    stays, goes = sorted(tree.held, key=lambda held: held.number)
    assert tree.held[stays].writers[one] == one.over
    assert tree.held[goes].writers[one] == one.bases[1]
    ends = follow(tree.top, {one: one.over - 1}).ends
    left = {held.what for held in ends if one in ends[held].holders}
    assert left == {"a pipe", "descriptor 9"}


def test_who_has_it_open_at_a_cut(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    child.call(30, CLOSE, 3)
    closed = child.call(31, CLOSE, 4)
    child.call(32, GETPPID)
    tree = Tree(top)  # type: ignore[arg-type]
    for place, names in ((closed - 1, {"0", "0.1"}), (closed, {"0"})):
        ends = follow(tree.top, {tree.top: 2, tree.top.children[0]: place}).ends
        assert {one.name for one in next(iter(ends.values())).holders} == names


def test_calls_that_the_log_counts_are_each_a_write(top: Log) -> None:
    child = fork(top, 20, 1, 101)
    wrote = child.call(30, WRITE, 4, result=2, repeat=3)
    read = top.call(29, READ, 3, result=6)
    assert at(top, read)["0.1"] == wrote + 2


def test_who_has_ended_and_wrote_is_replayed(top: Log) -> None:
    """With its parent, which is needed to make it; not where nobody has the pipe any more."""
    child = fork(top, 20, 1, 101)
    grandchild = fork(child, 30, 1, 201)
    fork(top, 31, 2, 102).call(90, GETPPID)
    grandchild.call(40, WRITE, 4, result=1)
    grandchild.ended(41, 0)
    child.call(42, WAIT4, 201, result=201)
    child.ended(43, 0)
    waited = top.call(50, WAIT4, 101, result=101)
    plan = planned(top, waited)
    assert {one.name for one in plan.counts} == {"0.1", "0.1.1"}
    assert [one.name for one in plan.made] == ["0", "0.1", "0.1.1", "0.2"]
    assert {one.name for one in plan.ghosts} == {"0.1", "0.1.1"}


def test_calls_that_copy(top: Log) -> None:
    copies, over = (fork(top, 20 + n, n, 100 + n) for n in (1, 2))
    copies.call(32, GETPPID)
    over.call(33, GETPPID)
    copies.call(60, SENDFILE, 1, 3, result=5)
    assert "a pipe was used by sendfile(2) or a similar call" in refusal(top, top.call(70, GETPPID))


def test_an_offset_that_several_moved(top: Log) -> None:
    """Who has moved by the cut has after all that had moved before; of two whose calls overlapped
    nobody knows who was first: neither is without the other."""
    top.call(12, OPENAT, 0, 0, 0, result=7)
    both = [fork(top, 20 + n, n, 100 + n) for n in (1, 2)]
    both[0].call(30, LSEEK, 7, 5, 0, result=5)
    for child in both:
        child.call(35, GETPPID)
    both[1].call(40, READ, 7, result=5)
    both[0].call(50, LSEEK, 7, 9, 0, result=9)
    both[1].call(60, LSEEK, 7, 2, 0, result=2)
    tree = Tree(top)  # type: ignore[arg-type]
    _, first, second = tree.nodes
    assert (2, first, 1) in tree.needs[second] and (3, first, 3) in tree.needs[second]
    assert (3, second, 2) in tree.needs[first] and (3, second, 3) in tree.needs[first]
    assert not any(place == 1 and node is second for place, node, _ in tree.needs[first])


def test_an_offset_that_one_moved_that_has_ended(top: Log) -> None:
    top.call(12, OPENAT, 0, 0, 0, result=7)
    child = fork(top, 20, 1, 101)
    child.call(30, READ, 7, result=5)
    child.ended(40, 0)
    (moved,) = planned(top, top.call(50, GETPPID)).counts
    assert moved.name == "0.1"


# ---- what rdb-exec is told ----


def test_the_files_that_say_what_to_make(top: Log, tmp_path: Path) -> None:
    lives, killed, ghost, told = (fork(top, 20 + n, n, 100 + n) for n in (1, 2, 3, 4))
    lives.call(30, GETPPID)
    lives.becomes(31).call(90, GETPPID)
    killed.ended(40, TERM, EndKind.SIGNAL)
    ghost.call(41, WRITE, 4, result=1)
    ghost.ended(42, 3)
    told.ended(43, 0)
    top.signal(44, CHLD, 1, 104)
    event = top.call(50, WAIT4, 103, result=103)
    plan = planned(top, event)
    branch = tmp_path / "branch"
    branch.mkdir()
    program, options = write_tree(str(branch), plan, 0, ["--own"], ["--common"], None)
    assert (program, options[0], options[-2:]) == (top, "--own", ["--process", "0-0"])
    files = {
        one.name: one.read_bytes().decode().split("\0")
        for one in branch.glob("tree*/*")
        if one.name not in ("pids", "nodes")
    }
    assert set(files) == {"0-0-2", "0-0-3", "0-0-4", "0-0-5", "1-0-next", "4-0-end"}
    assert files["0-0-2"][:2] == ["1", "lives"]
    assert files["0-0-3"] == ["2", "ended", str(TERM), "1", ""]
    assert files["0-0-4"][:4] == ["4", "ghost", "768", "0"]
    assert files["0-0-5"] == ["3", "ended", "0", "0", ""]
    assert files["4-0-end"] == ["768", ""]
    for name, until in (("0-0-2", "1"), ("1-0-next", "0"), ("0-0-4", "1")):
        words = files[name]
        assert words[words.index("--at") + 1] == until and "--common" in words

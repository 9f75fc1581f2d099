"""Every replay compares what the program hands to the world with what was recorded.

A read of the program's input gets other bytes in the log, with a checksum that matches: then the
call that hands these on is where the replay differs, and it says so.
"""

from __future__ import annotations

import itertools
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import deadlines
import mpijob
import pytest
from conftest import PROGRAMS, Build, Rdb
from faults import Rank
from inputs import INTERPOSER, rows
from symbols import symbol

from rdb.crc32c import crc32c, crc32c_data
from rdb.paths import mpi_dir
from rdb.recording import Kind, RankRecording, open_job
from rdb.recording.log.record import Record
from rdb.recording.log.syscalls import SYSCALLS
from rdb.recording.log.verbs_calls import _FUNCTIONS, Call
from rdb.timeline.stopped import Strayed
from rdb.timeline.timeline import Timeline

BuildText = Callable[..., Path]
PREAD = next(nr for nr, (name, _) in SYSCALLS.items() if name == "pread64")
BYTES = 1024


def alter(recording: RankRecording, record: Record, new: bytes) -> None:
    """Puts bytes into the record's first chunk for memory, and a checksum that matches."""
    segment, offset, size = record._entry[4], record._entry[3], record._entry[5]
    path = recording.path / f"log-{segment:06d}.seg"
    data = bytearray(path.read_bytes())
    at = offset + 56 + 8 * len(record.args)
    check = crc32c(0, bytes(data[offset + 16 : at]))
    done = False
    while at < offset + size:
        address, length = struct.unpack_from("<QI", data, at)
        if address and not done:
            data[at + 16 : at + 16 + len(new)] = new
            done = True
        check = crc32c(check, bytes(data[at : at + 16]))
        check = crc32c_data(check, bytes(data[at + 16 : at + 16 + length]))
        end = at + 16 + (length + 7) // 8 * 8
        check = crc32c(check, bytes(data[at + 16 + length : end]))
        at = end
    assert done
    struct.pack_into("<I", data, offset + 4, check)
    path.write_bytes(data)


def inputs(recording: RankRecording) -> list[Record]:
    return [r for r in recording.records() if r.kind is Kind.SYSCALL and r.nr == PREAD]


def copy_of(rank: Rank, to: Path) -> Rank:
    """With the log of its own, which a test alters."""
    shutil.copytree(rank.path, to / "rank-0")
    return Rank(to / "rank-0", rank.files)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Rank:
    folder = tmp_path_factory.mktemp("outputs")
    (folder / "input").write_bytes(bytes(65 + i % 26 for i in range(BYTES)))
    folder.chmod(0o755)
    program = build("outputs.c", "-O1", "-w", f"-I{INTERPOSER}")
    rank = Rank.make(folder)
    assert rank.record(program, folder / "input", options=("--check", "full")) == 2
    code, answer, said = rank.verify()
    assert (code, said) == (0, ""), answer
    return rank


def ways(recording: RankRecording) -> Iterator[tuple[Record, Record]]:
    """Each read of the input and the call that is given it."""
    events = [r for r in recording.records() if r.kind.is_event]
    for before, after in itertools.pairwise(events):
        if before.kind is Kind.SYSCALL and before.nr == PREAD:
            yield before, after


def test_every_way_out_is_compared(outputs: Rank, tmp_path: Path) -> None:
    """Of the table of inputs every row, and the ways that functions know, one after the other."""
    pairs = list(ways(outputs.recording()))
    seen = set()
    for number, (read, call) in enumerate(pairs):
        name = SYSCALLS[call.nr][0]
        if call.nr == PREAD:  # the next way's: this one was answered without an event
            continue
        seen.add(name)
        rank = copy_of(outputs, tmp_path / str(number))
        # bits that a mask, a small number or a string's first letter may be looked at for
        alter(rank.recording(), read, b"BCDEFGHIJKLMNOPQ")
        code, answer, _ = rank.verify()
        assert code == 5, f"{name} ({number}): {answer}"
        assert answer["event"] == call.event, f"{name} ({number}): {answer}"
        assert f"the data passed to {name}(2) differs from the recording" in str(answer["what"])
        shutil.rmtree(rank.path)
    left_out = {"clone3", "rt_sigsuspend", "sigaltstack", "setrlimit", "prlimit64"}  # see outputs.c
    assert rows().keys() - seen == {*left_out, "reboot"}


#: Pointers that are addresses and nothing else, or that only the boundary writes to.
ADDRESSES = {
    *("mmap", "mprotect", "munmap", "brk", "mremap", "msync", "madvise", "mincore", "shmat"),
    *("shmdt", "clone", "mlock", "mlock2", "munlock", "readahead", "mbind", "pkey_mprotect"),
    *("set_tid_address", "set_mempolicy_home_node", "remap_file_pages"),
}
WRITTEN_BY_US = {("rt_sigaction", 2), ("rt_sigprocmask", 2), ("sigaltstack", 1), ("arch_prctl", 1)}


def test_every_pointer_of_a_system_call_is_known() -> None:
    """What the kernel reads there is in the table of inputs, what it writes in that of outputs."""
    text = (INTERPOSER / "answer" / "syscalls.def").read_text()
    inputs = (INTERPOSER / "answer" / "syscall_inputs.def").read_text()
    reasons = set(re.findall(r'^NOT\((\w+), (\d), "[^"]{20,}"\)$', inputs, re.MULTILINE))
    calls = {name: signature for name, signature in SYSCALLS.values()}
    answered = re.findall(r"^SYS\((\w+), (?:PASS|EMU), (.*?)\) /\*", text, re.MULTILINE)
    assert len(answered) > 250 and len(reasons) >= 4
    assert rows().keys() <= {name for name, _ in answered}
    assert not [name for name, _ in answered if calls[name] is None]
    unknown = []
    for name, written in answered:
        places = {int(a) for a in re.findall(r"(?:FIX|RET|CAP|ARR|ERR|VAL)\((\d)", written)}
        places |= {int(a) for a in re.findall(r"VAL\(\d, (\d)", written)}
        places |= {place for _, place in rows().get(name, [])}
        function = "FN(" in written or -1 in places
        for place, kind in enumerate(calls.get(name) or ""):
            known = function or place in places or (name, str(place)) in reasons
            if kind == "p" and not known and name not in ADDRESSES:
                unknown += [] if (name, place) in WRITTEN_BY_US else [(name, place)]
    assert unknown == []


def altered(rank: Rank, folder: Path, number: int, read: Record) -> tuple[int, dict[str, object]]:
    """Answer of a replay in which that read gives other letters, and other low bits."""
    copy = copy_of(rank, folder / str(number))
    alter(copy.recording(), read, b"\x02\x05\x08\x03" + b"BCDEFGHIJKLMNOPQ"[4:])
    code, answer, _ = copy.verify()
    shutil.rmtree(copy.path)
    return code, answer


def test_every_way_of_mpi(build: Build, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(bytes(65 + i % 26 for i in range(BYTES)))
    program = build("mpi/outputs.c", "-O1", "-w")
    done = mpijob.record(
        tmp_path, 2, program, tmp_path / "input", tmp_path / "written", hash_every=0
    )
    assert done.result.returncode == 0, done.result.stderr
    source = (PROGRAMS / "mpi/outputs.c").read_text()
    for number in (0, 1):
        rank = Rank(done.path / f"rank-{number}", done.files)
        assert rank.verify()[0] == 0, rank.verify()
        found = []
        for way, (read, call) in enumerate(ways(rank.recording())):
            assert call.kind is Kind.HYPERCALL, call
            code, answer = altered(rank, tmp_path / f"altered-{number}", way, read)
            name = rank.recording().describe(call.event)
            assert (code, answer.get("event")) == (5, call.event), f"{name}: {answer}"
            said = f"the data passed to {name.partition('(')[0]} differs from the recording"
            assert said in str(answer["what"]), (name, answer)
            found.append(name.partition("(")[0])
        wanted = re.findall(r"WAY\(.*?(MPI_\w+)\(", source)
        only_root = ["MPI_Bcast", "MPI_Scatter", "MPI_Scatterv"]
        assert found == [name for name in wanted if number == 0 or name not in only_root]


def test_blocks_of_datatypes(build: Build, tmp_path: Path) -> None:
    """What is in the last of 1 to 100,000 blocks goes out, what is in a hole does not."""
    (tmp_path / "input").write_bytes(bytes(65 + i % 26 for i in range(BYTES)))
    program = build("mpi/blocks_out.c", "-O1", "-w")
    mpi = ("--mpi-lower", mpi_dir() / "lower.so", "--mpi-stub", mpi_dir() / "libmpi.so.40")
    full = (*mpi, "--check", "full")
    done = mpijob.record(tmp_path, 1, program, tmp_path / "input", hash_every=0, mpi=full)
    assert done.result.returncode == 0, done.result.stderr
    rank = Rank(done.path / "rank-0", done.files)
    assert rank.verify()[0] == 0, rank.verify()
    recording = rank.recording()
    sends = [
        (read, call)
        for read, call in ways(recording)
        if recording.describe(call.event).startswith("MPI_Sendrecv(")
    ]
    wanted = done.result.stdout.split()
    assert len(sends) == len(wanted) == 5 * 9 + 6 + 3 * 2 * 3 * 2
    for case, (what, (read, call)) in enumerate(zip(wanted, sends, strict=True)):
        code, answer = altered(rank, tmp_path / "altered", case, read)
        if what == "hole":
            assert code == 0, (case, answer)
            continue
        assert (code, answer.get("event")) == (5, call.event), (case, answer)
        assert "the data passed to MPI_Sendrecv differs from the recording" in str(answer["what"])


def test_posted_work_requests(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> None:
    """Their lists, their pieces, and what these name."""
    (tmp_path / "input").write_bytes(bytes(65 + i % 26 for i in range(BYTES)))
    program = build_text("posts", POSTS, "-w", "-libverbs")
    done = rdb("run", "--name", "job", "--hca=soft", "--", program, "input")
    assert done.returncode == 0, done.stderr
    job = open_job("job")
    rank = Rank(job.path / "rank-0", job.path / "files")
    pairs = list(ways(rank.recording()))
    assert len(pairs) == 5
    for way, (read, call) in enumerate(pairs):
        code, answer = altered(rank, tmp_path / "altered", way, read)
        assert (code, answer.get("event")) == (5, call.event), answer
        name = rank.recording().describe(call.event).partition("(")[0]
        assert name.startswith("ibv_")
        assert f"the data passed to {name} differs from the recording" in str(answer["what"])


def test_names_of_verbs() -> None:
    """A divergence calls them what a listing of events calls them."""
    rows = (INTERPOSER / "verbs" / "calls.def").read_text()
    named = re.findall(r'^CALL\((\w+), \w+, "(\w+)"\)', rows, re.MULTILINE)
    assert named == [(call.name, _FUNCTIONS[call][0]) for call in Call]


POSTS = r"""
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <unistd.h>
static char input[1024] __attribute__((aligned(4096)));
#define WAY(statement) \
	if (pread(from, input, 1024, 0) != 1024) \
		return 3; \
	statement;
int main(int argc, char **argv)
{
	int from = open(argv[1], O_RDONLY), n;
	struct ibv_context *c = ibv_open_device(*ibv_get_device_list(&n));
	struct ibv_pd *pd = ibv_alloc_pd(c);
	struct ibv_cq *cq = ibv_create_cq(c, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq, .recv_cq = cq, .cap = {8, 8, 2, 2, 16}};
	struct ibv_qp *qp = (init.qp_type = IBV_QPT_RC, ibv_create_qp(pd, &init));
	struct ibv_mr *mr = ibv_reg_mr(pd, input, sizeof(input), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge piece = {(uintptr_t)input, 16, mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rr = {.sg_list = &piece, .num_sge = 1}, *bad_rr;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	if (!qp || !mr)
		return 2;
	WAY(ibv_post_send(qp, &wr, &bad)) /* it is not connected, and refuses */
	WAY(wr.send_flags = IBV_SEND_INLINE; ibv_post_send(qp, &wr, &bad))
	WAY(memcpy(&wr.wr_id, input, 8); ibv_post_send(qp, &wr, &bad))
	WAY(memcpy(&rr.wr_id, input, 8); ibv_post_recv(qp, &rr, &bad_rr))
	WAY(memcpy(&attr.qkey, input, 4); ibv_modify_qp(qp, &attr, IBV_QP_STATE))
	return 0;
}
"""


@pytest.fixture
def small(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> RankRecording:
    """A program that reads 1024 bytes and writes the first of them."""
    (tmp_path / "input").write_bytes(b"A" * BYTES)
    program = build_text("small", SMALL, "-O0")
    done = rdb("run", "--name", "job", "--", program, "input")
    assert (done.returncode, done.stdout) == (0, "A"), done.stderr
    return open_job("job").rank(0)


SMALL = r"""
#include <fcntl.h>
#include <unistd.h>
static char input[1024];
int main(int argc, char **argv)
{
	pread(open(argv[1], O_RDONLY), input, 1024, 0);
	return write(1, input, 1) != 1; /* out */
}
"""


def test_every_replay_says_so(rdb: Rdb, small: RankRecording, tmp_path: Path) -> None:
    (pair,) = ways(small)
    alter(small, pair[0], b"B")
    line = next(n for n, text in enumerate(SMALL.splitlines(), 1) if "/* out */" in text)
    for command in (["replay", "job"], ["replay", "job", "--verify"]):
        done = rdb(*command)
        assert done.returncode == 5
        assert f"event {pair[1].event}: the data passed to write(2) differs" in done.stderr
        assert re.search(r"argument 1, 1 bytes at 0x\w+ \(.*small", done.stderr), done.stderr
        assert f"called in main (small.c:{line})" in done.stderr
    said = f"event {pair[1].event}: the data passed to write(2)"
    with Timeline(small) as timeline, pytest.raises(Strayed, match=re.escape(said)):
        timeline.cont()
    (tmp_path / "script").write_text("quit\n")
    attached = rdb("attach", "job", "-x", "script")
    assert said in attached.stdout + attached.stderr


ENDS = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static char input[1024];
int main(int argc, char **argv)
{
	pread(open(argv[1], O_RDONLY), input, 1024, 0);
	switch (input[0]) {
	case 'A': return 3;
	case 'B': return 4;
	case 'C': syscall(SYS_exit, 3);
	case 'D': *(volatile int *)8 = 1;
	case 'E': __builtin_trap();
	case 'F': kill(getpid(), SIGTERM);
	case 'G': kill(getpid(), SIGKILL);
	case 'H': abort();
	}
	return 0;
}
"""
SIGNALS = {"D": 11, "E": 4, "F": 15, "G": 9, "H": 6}


@pytest.mark.parametrize("recorded", "ABCDEFH")  # of a SIGKILL there is no record
def test_how_a_program_ends_is_compared(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, recorded: str
) -> None:
    """Each way to end against each other one."""
    (tmp_path / "input").write_bytes(recorded.encode() * BYTES)
    program = build_text("ends", ENDS, "-O1", "-w")
    done = rdb("run", "--name", "job", "--", program, "input")
    wanted = {"A": 3, "B": 4, "C": 3}.get(recorded) or 128 + SIGNALS[recorded]
    assert done.returncode == wanted, done.stderr
    assert rdb("replay", "job").returncode == 0
    rank = Rank(open_job("job").path / "rank-0", open_job("job").path / "files")
    read = inputs(rank.recording())[0]
    for other in set("ABCDEFGH") - {recorded}:
        copy = copy_of(rank, tmp_path / other)
        alter(copy.recording(), read, other.encode())
        code, answer, _ = copy.verify()
        assert code == 5, f"{recorded}, then {other}: {answer}"
        assert answer["what"], answer


THREADS = r"""
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
static char input[1024], byte;
static volatile int turn;
static int ends[2];
static struct pollfd waits[2];
static void *other(void *arg)
{
	for (int seen = 0; seen < 5; seen++) {
		while (turn == seen)
			syscall(SYS_sched_yield);
		for (int i = 0; i < 12; i++) {
			syscall(SYS_getppid);
			waits[1].revents++; /* what the one who waits has handed out is what was there before */
		}
		write(ends[1], "x", 1);
	}
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	const int from = open(argv[1], O_RDONLY);
	pipe(ends);
	waits[0] = (struct pollfd){ends[0], POLLIN, 0};
	waits[1].fd = -1;
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < 5; i++) {
		pread(from, input, 1024, 0);
		waits[1].events = input[0];
		turn++;
		poll(waits, 2, -1);
		read(ends[0], &byte, 1);
	}
	return pthread_join(thread, NULL);
}
"""


def test_a_thread_that_waits_while_others_run(
    rdb: Rdb, build_text: BuildText, tmp_path: Path
) -> None:
    """Its question stands in the log before what the others did meanwhile."""
    (tmp_path / "input").write_bytes(b"A" * BYTES)
    program = build_text("threads", THREADS, "-O1", "-pthread")
    done = rdb("run", "--name", "job", "--", program, "input")
    assert done.returncode == 0, done.stderr
    assert rdb("replay", "job").returncode == 0
    job = open_job("job")
    rank = Rank(job.path / "rank-0", job.path / "files")
    records = [r for r in rank.recording().records() if r.kind.is_event or r.kind is Kind.ASKED]
    between = 0
    for way, read in enumerate(inputs(rank.recording())):
        mine = [r for r in records if r.event > read.event and r.thread == read.thread]
        nap = next(r for r in mine if r.kind.is_event)
        between += nap.event - read.event > 1
        code, answer = altered(rank, tmp_path / "altered", way, read)
        assert (code, answer.get("event")) == (5, nap.event), answer
        assert "poll(2) differs from the recording" in str(answer["what"]), answer
    assert between and any(r.kind is Kind.ASKED for r in records)


def test_a_thread_that_waits_at_a_checkpoint(build_text: BuildText, tmp_path: Path) -> None:
    """What it hands out it has asked before the replay begins; others have changed it since."""
    (tmp_path / "input").write_bytes(b"A" * BYTES)
    rank = Rank.make(tmp_path)
    program = build_text("threads", THREADS, "-O1", "-pthread")
    options = ("--hash-every", "1", "--checkpoint-every", "5")
    assert rank.record(program, tmp_path / "input", options=options) == 0
    recording = rank.recording()
    asked = {r.event: r for r in recording.records() if r.kind is Kind.ASKED}
    inside = 0
    for record in recording.records():
        if record.kind is not Kind.CHECKPOINT:
            continue
        waiting = [a for event, a in asked.items() if event <= record.event]
        ends = [
            next(r.event for r in recording.records()
                 if r.thread == a.thread and r.event > a.event and r.kind.is_event)
            for a in waiting
        ]  # fmt: skip
        inside += any(end > record.event for end in ends)
        code, answer, said = rank.verify("--checkpoint", str(record.nr))
        assert (code, said) == (0, ""), (record.nr, answer)
    assert inside


def test_text_and_what_is_not_there_are_left_out(rdb: Rdb, build_text: BuildText) -> None:
    """Text has breakpoints and patches in it; a bad pointer is an error for the program."""
    program = build_text("odd", ODD, "-O1", "-w")
    native = deadlines.native([program])
    done = rdb("run", "--name", "job", "--", program)
    assert (done.returncode, done.stdout) == (0, native.stdout), done.stderr
    assert rdb("replay", "job").returncode == 0
    with Timeline(open_job("job").rank(0)) as timeline:
        at = symbol(timeline, program, "counter")
        timeline.set_breakpoint(1, at)
        assert timeline.cont().reason == "breakpoint"
        while (reason := timeline.cont().reason) == "breakpoint":
            pass
        assert reason == "end"


ODD = r"""
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>
__attribute__((noinline)) unsigned long long counter(void)
{
	return __rdtsc() * 3;
}
int main(void)
{
	int ends[2];
	sigset_t all;
	sigfillset(&all);
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(two, 1, 4096);
	munmap(two + 4096, 4096);
	pipe(ends);
	for (int i = 0; i < 3; i++) {
		long n = write(ends[1], (void *)8, 10), m = write(ends[1], two + 4090, 10);
		printf("%ld %ld %d\n", n, m, errno);
		counter();
		write(ends[1], (void *)counter, 64);
		sigprocmask(SIG_BLOCK, &all, NULL); /* SIGSEGV, too */
	}
	return 0;
}
"""


@pytest.mark.parametrize(
    ("check", "different", "noticed"),
    [("sample", 4096 + 64, True), ("full", 1, True), ("off", 8192, False)],
)
def test_large_pieces(
    rdb: Rdb, build_text: BuildText, tmp_path: Path, check: str, different: int, noticed: bool
) -> None:
    """Of a sample a page that differs is always in it."""
    (tmp_path / "input").write_bytes(b"A" * 8192)
    program = build_text("large", LARGE, "-O1", "-w")
    done = rdb("run", "--name", "job", "--check", check, "--", program, "input")
    assert done.returncode == 0, done.stderr
    assert rdb("replay", "job").returncode == 0
    job = open_job("job")
    rank = Rank(job.path / "rank-0", job.path / "files")
    for way, (read, call) in enumerate(ways(rank.recording())):
        copy = copy_of(rank, tmp_path / f"altered-{way}")
        alter(copy.recording(), read, b"B" * different)
        _, answer, _ = copy.verify()
        said = str(answer.get("what"))
        assert ("the data passed to " in said) == noticed, answer
        assert not noticed or answer["event"] == call.event, answer
        assert ("of which a sample is compared" in said) == (check == "sample")
    assert rdb("run", "--check", "some", "--", program).returncode == 2
    assert rdb("exec", "--check", "some", "--", program).returncode == 2


LARGE = r"""
#include <fcntl.h>
#include <unistd.h>
static char large[1 << 20] __attribute__((aligned(4096)));
int main(int argc, char **argv)
{
	const int from = open(argv[1], O_RDONLY), to = open("/dev/null", O_WRONLY);
	for (int i = 0; i < 5; i++) {
		pread(from, large + 70000 + 4000 * i, 8192, 0);
		if (write(to, large, sizeof(large)) != sizeof(large))
			return 1;
	}
	return 0;
}
"""

"""rdb.recording: what was recorded is read back exactly; damage is said, never skipped."""

from __future__ import annotations

import cProfile
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import Rdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdb.errors import DamagedRecording, RdbError, UnknownJob, VersionMismatch
from rdb.recording import EndKind, Kind, RankRecording, home, list_jobs, open_job
from rdb.recording.log.describe import describe
from rdb.recording.log.syscalls import SYSCALLS

BuildText = Callable[..., Path]

READER = """
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[100];
	int fd = open(argv[1], O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getppid, i);
	return open("/no/such/file", O_RDONLY) < 0 ? (int)n : 99;
}
"""


@pytest.fixture
def recording(rdb: Rdb, build_text: BuildText, tmp_path: Path) -> RankRecording:
    (tmp_path / "input").write_text("hello")
    done = rdb("run", "--hash-every", "100", "--", build_text("reader", READER), "input")
    assert done.returncode == 5, done.stderr
    return open_job("reader-1").rank(0)


def test_the_store_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RDB_HOME", "/a")
    assert home() == Path("/a")
    monkeypatch.delenv("RDB_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    assert home() == Path("/state/rdb")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/h")
    assert home() == Path("/h/.local/state/rdb")


def test_rdb_exec_and_the_library_agree_on_the_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from rdb.launch import newjob
    from rdb.recording import store

    for value in (str(tmp_path), None):
        monkeypatch.delenv("RDB_HOME", raising=False)
        if value:
            monkeypatch.setenv("RDB_HOME", value)
        assert newjob.home() == str(home())
    assert newjob._FORMAT == store.FORMAT


def test_meta_end_and_files(recording: RankRecording, tmp_path: Path) -> None:
    program = tmp_path / "reader"
    assert recording.meta["argv"] == [str(program), "input"]
    assert recording.meta["exe"] == str(program)
    assert recording.meta["rank"] == recording.rank == 0
    assert recording.end is not None
    assert (recording.end.kind, recording.end.value) == (EndKind.EXIT, 5)
    assert recording.state == "exited 5"
    assert recording.checkpoints == [(0, 0)]
    stored = recording.store_path(str(program))
    assert stored is not None
    assert stored.read_bytes() == program.read_bytes()
    assert recording.store_path("/not/used") is None


def test_arguments_are_told_in_their_full_size() -> None:
    """lseek(2) and pread(2) have offsets of 64 bits, dup2(2) takes ints."""

    def told(number: int, *args: int) -> str:
        args = tuple(one % (1 << 64) for one in args)
        record: Any = SimpleNamespace(kind=Kind.SYSCALL, nr=number, args=args, result=0, repeat=0)
        return describe(record)

    assert told(8, 3, 5 << 30, 0) == "lseek(3, 5368709120, 0) = 0"
    assert told(17, 3, 0, 1 << 31, -1) == "pread64(3, 0, 2147483648, -1) = 0"
    assert told(33, (1 << 40) + 3, -1) == "dup2(3, -1) = 0"


def test_each_event_is_told_in_words(recording: RankRecording) -> None:
    told = [recording.describe(event) for event in range(recording.last_event + 1)]
    assert told[0] == "start of the program"
    (read,) = (text for text in told if text.startswith("read("))
    assert re.fullmatch(r"read\(3, 0x[0-9a-f]+, 100\) = 5", read)
    assert any(re.fullmatch(r"openat\(AT_FDCWD, 0x\w+, 0, 0o0\) = 3", text) for text in told)
    assert any("= -ENOENT (No such file or directory)" in text for text in told)
    assert sum(text.startswith("getppid()") for text in told) == 1000


def test_what_was_read_is_in_the_chunks(recording: RankRecording) -> None:
    (read,) = (
        r for r in recording.records() if r.kind is Kind.SYSCALL and SYSCALLS[r.nr][0] == "read"
    )
    assert (read.args[0], read.args[2], read.result) == (3, 100, 5)
    (chunk,) = read.chunks
    assert chunk.addr == read.args[1]
    assert bytes(chunk.data) == b"hello"


def test_events_are_numbered_without_gaps(recording: RankRecording) -> None:
    numbers = []
    for record in recording.records():
        if record.kind.is_event:
            numbers += range(record.event, record.event + record.repeat + 1)
    assert numbers == list(range(recording.last_event + 1))
    hashes = [r for r in recording.records() if r.kind is Kind.HASH]
    assert (hashes[-1].event, hashes.pop().nr) == (recording.last_event, 1)  # that of the end
    assert [r.event for r in hashes] == list(range(0, recording.last_event + 1, 100))


def test_a_range_of_records_is_that_range(recording: RankRecording) -> None:
    every = [r.event for r in recording.records() if r.kind.is_event]
    last = recording.last_event
    for first, upto in ((0, 0), (3, 7), (100, 100), (last, last), (0, last)):
        part = [r.event for r in recording.records(first, upto) if r.kind.is_event]
        assert part == [e for e in every if first <= e <= upto]
    with pytest.raises(UnknownJob, match=f"no event {last + 1}"):
        recording.describe(last + 1)
    with pytest.raises(UnknownJob, match="no event -1"):
        recording.describe(-1)


def test_jobs_are_found_by_name_and_by_path(recording: RankRecording, rdb_home: Path) -> None:
    assert [job.name for job in list_jobs()] == ["reader-1"]
    assert open_job(rdb_home / "reader-1").name == "reader-1"
    for wrong in ("reader-2", "", "..", "/", "reader-1/rank-0"):
        with pytest.raises(UnknownJob):
            open_job(wrong)
    job = open_job("reader-1")
    assert job.ranks == [0]
    with pytest.raises(UnknownJob, match="no rank 1"):
        job.rank(1)
    job.remove()
    assert list_jobs() == []


def _intact_bytes(log: Path) -> int:
    """Bytes up to the last record: what comes after is preallocated room."""
    data = log.read_bytes()
    at = 32
    while at + 8 <= len(data):
        size = struct.unpack_from("<I", data, at)[0] & ~7  # LOG_SHORT
        if size == 0:
            break
        at += size
    return at


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_flipped_bit_goes_unnoticed(
    recording: RankRecording, tmp_path: Path, data: st.DataObject
) -> None:
    """Any bit: the log is refused with file and offset, or it reads exactly as before."""
    log = recording.path / "log-000000.seg"
    original = log.read_bytes()
    bit = data.draw(st.integers(0, _intact_bytes(log) * 8 - 1))
    altered = bytearray(original)
    altered[bit // 8] ^= 1 << bit % 8
    copy = tmp_path / "altered" / "rank-0"
    copy.mkdir(parents=True, exist_ok=True)
    (copy / log.name).write_bytes(altered)
    changed = RankRecording(copy, recording.files_dir)
    try:
        read = [(r.kind, r.event, r.result, r.args) for r in changed.records()]
    except VersionMismatch as error:
        assert 64 <= bit < 96 and "this rdb reads" in str(error)
    except DamagedRecording as error:
        assert re.search(r"log-000000\.seg: offset \d+: expected ", str(error))
    else:
        whole = [(r.kind, r.event, r.result, r.args) for r in recording.records()]
        # A size of zero is how a log that was cut by SIGKILL ends.
        assert read == whole[: len(read)]
        assert len(read) == len(whole) or _zero_size(altered, bit // 8)


def _zero_size(data: bytearray, near: int) -> bool:
    at = 32
    while at + 8 <= len(data):
        size = struct.unpack_from("<I", data, at)[0] & ~7  # LOG_SHORT
        if size == 0:
            return at <= near < at + 4
        at += size
    return False


def test_a_torn_log_keeps_what_came_before(recording: RankRecording, tmp_path: Path) -> None:
    """Cut in the middle of a record: said where; cut between records: as after SIGKILL."""
    log = recording.path / "log-000000.seg"
    whole = [(r.kind, r.event) for r in recording.records()]
    copy = tmp_path / "torn" / "rank-0"
    copy.mkdir(parents=True)
    torn = copy / log.name
    torn.write_bytes(log.read_bytes()[: _intact_bytes(log) // 2 | 1])
    with pytest.raises(DamagedRecording, match=r"log-000000\.seg: offset \d+"):
        list(RankRecording(copy, recording.files_dir).records())
    assert RankRecording(copy, recording.files_dir).state == "damaged"

    data = log.read_bytes()
    at = 32
    for _ in range(100):
        at += struct.unpack_from("<I", data, at)[0] & ~7
    torn.write_bytes(data[:at] + bytes(4096))
    cut = RankRecording(copy, recording.files_dir)
    assert [(r.kind, r.event) for r in cut.records()] == whole[:100]
    assert (cut.end, cut.state) == (None, "killed")


def test_a_rank_of_another_machine_is_not_called_killed(
    recording: RankRecording, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording.meta["host"] = "elsewhere"
    assert recording.state == "exited 5"
    monkeypatch.setattr(recording, "end", None)
    assert recording.state == "open on elsewhere"
    recording.meta["host"] = os.uname().nodename
    assert recording.state == "killed"


def test_another_version_of_the_log_is_named(recording: RankRecording) -> None:
    log = recording.path / "log-000000.seg"
    data = bytearray(log.read_bytes())
    struct.pack_into("<I", data, 8, 99)
    log.write_bytes(data)
    with pytest.raises(VersionMismatch, match="log v99, this rdb reads v8"):
        list(RankRecording(recording.path, recording.files_dir).records())


def test_a_rank_without_a_log_and_a_torn_job_file(recording: RankRecording, rdb_home: Path) -> None:
    shutil.rmtree(recording.path)
    recording.path.mkdir()
    assert list_jobs()[0].ranks == [0]
    with pytest.raises(DamagedRecording, match="expected a log"):
        _ = list_jobs()[0].rank(0).state
    job = rdb_home / "reader-1" / "job.json"
    job.write_text('{"format": 1')
    with pytest.raises(DamagedRecording, match=r"job\.json: offset 12: expected JSON"):
        open_job("reader-1")


def test_many_records_are_read_with_few_calls(rdb: Rdb, build_text: BuildText) -> None:
    """A second for a million of them, which `make bench` measures: next to nothing is called."""
    program = build_text(
        "many",
        "#include <sys/syscall.h>\n#include <unistd.h>\n"
        "int main(void) { for (int i = 0; i < 300000; i++) syscall(SYS_getppid, i); return 0; }",
    )
    assert rdb("run", "--", program).returncode == 0
    rank = open_job("many-1").rank(0)
    profile = cProfile.Profile()
    events = profile.runcall(lambda: sum(1 for one in rank.records() if one.kind.is_event))
    assert events == rank.last_event + 1 > 300_000
    calls = sum(one.callcount for one in profile.getstats())
    assert calls < 6 * events


def test_system_call_numbers_are_those_of_the_kernel_headers(build_text: BuildText) -> None:
    checks = "".join(
        # a header may be older than our list
        f'#ifdef __NR_{name}\n_Static_assert(__NR_{name} == {number}, "{name}");\n#endif\n'
        for number, (name, _) in SYSCALLS.items()
    )
    build_text("numbers", f"#include <asm/unistd_64.h>\n{checks}int main(void) {{ return 0; }}")


def test_what_cannot_be_read_is_an_error_of_rdb(tmp_path: Path) -> None:
    with pytest.raises(RdbError):
        RankRecording(tmp_path / "rank-3", tmp_path).index  # noqa: B018


def test_job_json_says_what_was_run(recording: RankRecording, rdb_home: Path) -> None:
    meta = json.loads((rdb_home / "reader-1" / "job.json").read_text())
    assert meta["argv"][1:] == ["input"]
    assert meta["launcher"] == "none"
    assert meta["nranks"] is None
    assert abs(meta["created_ns"] - time.time_ns()) < 600e9


def test_a_process_that_was_to_be_spawned_and_never_began_is_no_rank(rdb: Rdb) -> None:
    """MPI_Comm_spawn makes the directories first; its caller may be ended before any starts."""
    assert rdb("run", "--name", "alone", "--", "true").returncode == 0
    job = open_job("alone")
    (job.path / "rank-1").mkdir()
    assert job.ranks == [0]
    assert rdb("replay", "alone").returncode == 0
    (job.path / "rank-1/log-000000.seg").touch()
    assert job.ranks == [0, 1]
    assert rdb("replay", "alone").returncode == 5


def test_no_terminal_below_the_faces() -> None:
    """The engine knows no terminal: these layers import neither rich, prompt_toolkit nor gdb."""
    root = Path(__file__).parents[2] / "rdb"
    pattern = re.compile(
        r"^\s*(?:import|from)\s+(rich|prompt_toolkit|gdb|rdb\.cli|rdb\.console)\b", re.M
    )
    for layer in (
        "wire",
        "recording",
        "replay",
        "timeline",
        "coordinate",
        "launch",
        "live",
        "doctor",
    ):
        for source in (root / layer).rglob("*.py"):
            assert not pattern.search(source.read_text()), source
    code = "import sys, rdb.recording, rdb.launch.newjob; assert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_glance_reads_the_ends_of_a_log_only(
    rdb: Rdb, build_text: BuildText, rdb_home: Path
) -> None:
    """Here 5 segments: what lies between the first record and the last two is not looked at."""
    program = build_text(
        "zeros",
        "#include <fcntl.h>\n#include <unistd.h>\nstatic char all[4000];\n"
        'int main(void) { int fd = open("/dev/zero", O_RDONLY);\n'
        "for (int i = 0; i < 12000; i++) { all[0] = 1; read(fd, all, sizeof(all) - i % 2); }\n"
        "return 7; }",
    )
    assert rdb("run", "--", program).returncode == 7
    rank = open_job("zeros-1").rank(0)
    segments = sorted(rank.path.glob("log-*.seg"))
    assert len(segments) > 3
    glance = rank.glance()
    assert (glance.state, glance.last_event) == ("exited 7", rank.last_event)
    assert glance.meta == rank.meta
    # Neither has grown since it was read; where the newest segments are taken away, both had less.
    assert not glance.grown() and not rank.grown()
    segments[-1].rename(segments[-1].with_suffix(".away"))
    less = open_job("zeros-1").rank(0)
    assert less.last_event < rank.last_event and not less.grown()
    segments[-1].with_suffix(".away").rename(segments[-1])
    assert less.grown()
    with pytest.raises(TypeError):
        glance.records()

    damage(segments[1])
    assert rank.glance().state == "exited 7"
    rank.refresh()
    assert rank.state == "damaged"
    assert "damaged" not in rdb("ls").stdout
    assert rdb("info", "zeros-1").returncode == 5
    damage(segments[-1])
    assert rank.glance().state == "damaged"
    assert "damaged" in rdb("ls").stdout


def damage(segment: Path) -> None:
    data = bytearray(segment.read_bytes())
    data[200] ^= 1
    segment.write_bytes(data)

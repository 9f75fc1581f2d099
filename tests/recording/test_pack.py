"""rdb pack: one file that holds all, opened elsewhere; and packs that were tampered with."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import struct
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import bare_root
import pytest
from conftest import Build, Rdb, run_rdb

from rdb.errors import DamagedRecording, RdbError
from rdb.recording import Job, open_job
from rdb.recording.packing import pack
from rdb.recording.symbols.detached import build_id, debug_files, sections

HEAT = Path(__file__).parents[2] / "demos" / "heat" / "heat.c"
WITHOUT = "/none"  # of the machine's own files

# Fills several segments of its log, and ends with what it has counted.
LONG = r"""
#include <stdio.h>
#include <unistd.h>
static char data[1 << 20];
int main(void)
{
	int ends[2];
	long sum = 0;
	if (pipe(ends))
		return 1;
	for (int i = 0; i < 6000; i++) {
		data[0] = (char)i;
		if (write(ends[1], data, 4096) != 4096 || read(ends[0], data, 4096) != 4096)
			return 1;
		sum += data[0];
	}
	printf("%ld\n", sum);
	return 0;
}
"""


class Carried:
    """A job that was packed and then, with its program, removed from this machine."""

    def __init__(self, folder: Path, program: Path) -> None:
        self.home = folder / "home"
        self.program = folder / "heat"
        shutil.copy(program, self.program)
        self.out = folder / "heat.rdb"
        self._rdb("run", "-n", "2", "--name", "heat", "--", str(self.program), "32")
        self._rdb("pack", "heat", "-o", str(self.out))
        self._rdb("rm", "heat")
        self.program.unlink()

    def _rdb(self, *arguments: str) -> None:
        done = run_rdb(self.home, self.out.parent, *arguments)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def carried(tmp_path_factory: pytest.TempPathFactory) -> Carried:
    folder = tmp_path_factory.mktemp("carried")
    source = folder / "src" / "heat.c"
    source.parent.mkdir()
    shutil.copy(HEAT, source)
    program = folder / "built"
    subprocess.run(["mpicc", "-g", "-Og", source, "-o", program, "-lm"], check=True)
    made = Carried(folder, program)
    shutil.rmtree(source.parent)
    return made


@pytest.mark.skipif(bare_root.why_not() is not None, reason=str(bare_root.why_not()))
def test_a_pack_is_all_that_a_bare_machine_needs(carried: Carried, tmp_path: Path) -> None:
    root = bare_root.BareRoot(tmp_path / "root")
    assert not list(root.root.rglob("libmpi*"))
    shutil.copy(carried.out, root.root / "tmp" / "heat.rdb")
    (root.root / "tmp" / "script").write_text(
        "break main\nreverse-continue\nlist\nbt\nreverse-stepi\nwhen\n"
    )

    verified = root.run("replay", "/tmp/heat.rdb", "--verify")
    attached = root.run("attach", "/tmp/heat.rdb", "-x", "/tmp/script")
    found = root.run("bisect", "/tmp/heat.rdb", "step < 100", "--rank", "1", "--json")

    assert verified.returncode == 0, verified.stderr
    assert verified.stdout.count("1 hash agrees") == 2
    assert attached.returncode == 0, attached.stdout + attached.stderr
    assert "int main(int argc" in attached.stdout  # the source came with it
    assert found.returncode == 0, found.stdout + found.stderr
    assert "heat.c" in found.stdout


def test_a_pack_opens_where_its_program_is_gone(carried: Carried, rdb: Rdb, rdb_home: Path) -> None:
    told = rdb("info", carried.out, "--json")
    again = rdb("info", carried.out, "--json")

    assert told.returncode == 0, told.stderr
    assert [rank["state"] for rank in json.loads(told.stdout)["ranks"]] == ["exited 0"] * 2
    assert told.stdout == again.stdout
    kept = list((rdb_home / ".packs").iterdir())
    assert len(kept) == 1
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept[0].rglob("*"))
    assert rdb("rm", carried.out).returncode == 0
    assert not list((rdb_home / ".packs").iterdir())
    assert carried.out.exists()


def test_some_ranks_from_some_checkpoint_on(
    rdb: Rdb, build_text: Callable[..., Path], tmp_path: Path, rdb_home: Path
) -> None:
    program = build_text("long", LONG)
    options = ("--checkpoint-every", "600events", "--name", "long")
    assert rdb("run", *options, "--", program).returncode == 0
    whole = open_job("long")
    images = whole.rank(0).images
    out = tmp_path / "part.rdb"

    made = rdb("pack", "long", "-o", out, "--ranks", "0", "--since", "ckpt:18")
    part = open_job(out).rank(0)
    verified = rdb("replay", out, "--verify")

    assert made.returncode == 0, made.stderr
    assert part.first_event == images[16].event  # the full image of its group
    assert part.last_event == whole.rank(0).last_event
    assert [one.event for one in part.images] == [one.event for one in images[16:]]
    segments = sorted(path.name for path in part.path.glob("log-*.seg"))
    assert segments[0] == "log-000000.seg" and segments[1] != "log-000001.seg"
    assert verified.returncode == 0, verified.stderr
    assert part.meta == whole.rank(0).meta


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--ranks", "0,2"), "heat has no rank 2"),
        (("--since", "ckpt:99"), "none of these ranks has a checkpoint 99"),
        (("--ranks", "x"), "list of ranks"),
        (("-o", "/"), "not the name of a file"),
        (("-o", "-"), "not the name of a file"),
        (("-o", "none/a.rdb"), "there is no directory none"),
        (("-o", "n" * 256), "File name too long"),
    ],
)
def test_what_cannot_be_packed(
    carried: Carried, rdb: Rdb, arguments: tuple[str, ...], line: str
) -> None:
    done = rdb("pack", carried.out, *arguments)
    assert done.returncode in (2, 4)
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_pack_has_any_name_that_a_file_can_have(
    carried: Carried, rdb: Rdb, tmp_path: Path
) -> None:
    folder = tmp_path / "a folder's"
    folder.mkdir()
    out = folder / ("ü" * 127)
    done = rdb("pack", carried.out, "-o", out)
    assert done.returncode == 0, done.stderr
    assert shlex.split(done.stderr.rpartition("rdb attach ")[2]) == [str(out)]
    assert os.listdir(folder) == [out.name]
    assert rdb("replay", out).returncode == 0
    long = rdb("info", "n" * 300)
    assert long.returncode == 4 and "no job 'nnn" in long.stderr


def test_a_process_of_another_host_may_have_the_same_pid(
    carried: Carried, tmp_path: Path, rdb_home: Path
) -> None:
    out = tmp_path / "out" / "heat.rdb"
    out.parent.mkdir()
    job = open_job(carried.out)
    for other in (out.parent, rdb_home / ".packs"):  # what it is writing there
        for name in (".rdb-pack", *(f".{one.name}" for one in (rdb_home / ".packs").iterdir())):
            (other / f"{name}.{os.getpid()}").mkdir()
    left = [path for path in tmp_path.rglob(f"*.{os.getpid()}")]
    assert len(left) == 4
    pack(job, out, None, None)
    shutil.rmtree(job.path.parent)
    assert open_job(out).ranks == open_job(carried.out).ranks == [0, 1]
    assert all(path.exists() for path in left)


def test_a_pack_takes_no_device_away(carried: Carried, rdb: Rdb, tmp_path: Path) -> None:
    """It is renamed to its place, and root may do that with /dev/stdout."""
    device = tmp_path / "device"
    os.mkfifo(device)
    done = rdb("pack", carried.out, "-o", device)
    assert done.returncode == 2 and "not the name of a file" in done.stderr
    assert device.is_fifo()


def test_a_file_that_is_no_pack(carried: Carried, rdb: Rdb, tmp_path: Path) -> None:
    (tmp_path / "empty.rdb").touch()
    done = rdb("attach", "empty.rdb", "-x", "/dev/null")
    assert done.returncode == 4
    assert done.stderr == "rdb: empty.rdb is a file, but no pack; `rdb pack JOB` makes one\n"
    again = rdb("info", "nothing.rdb")
    assert again.returncode == 4 and "no job 'nothing.rdb' in" in again.stderr


# ---- packs that were tampered with ----


def rewritten(
    pack_file: Path, out: Path, change: Callable[[dict[str, bytes], dict[str, object]], None]
) -> Path:
    """The pack with other members; CHANGE gets these and the manifest."""
    with zipfile.ZipFile(pack_file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(members, manifest)
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps(manifest))
    return out


@pytest.fixture(scope="module")
def small(carried: Carried, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One rank, to be rewritten many times."""
    before = os.environ.get("RDB_HOME")
    os.environ["RDB_HOME"] = str(carried.home)
    try:
        out = tmp_path_factory.mktemp("small") / "small.rdb"
        pack(open_job(carried.out), out, [1])
    finally:
        os.environ.pop("RDB_HOME") if before is None else os.environ.update(RDB_HOME=before)
    return out


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/outside",
        "files/../../../outside",
        "rank-0/../../outside",
        "files/a/b",
        "outside",
        "sources/./x",
        "sources//x",
        "files/a\\b",
        "files/a\nb",
        "rank-0/child-0/log-000000.seg",
    ],
)
def test_names_that_lead_elsewhere_are_refused(
    small: Path, tmp_path: Path, rdb_home: Path, name: str
) -> None:
    def change(members: dict[str, bytes], manifest: dict[str, object]) -> None:
        files = manifest["files"]
        assert isinstance(files, dict)
        members[name] = members["job.json"]
        files[name] = files["job.json"]

    bad = rewritten(small, tmp_path / "bad.rdb", change)
    with pytest.raises(DamagedRecording, match="no place in a job's directory"):
        open_job(bad)
    assert [path for path in tmp_path.rglob("*outside*")] == []
    assert not (rdb_home / ".packs").exists()


def _set(name: str, **fields: object) -> Callable[[dict[str, bytes], dict[str, object]], None]:
    def change(members: dict[str, bytes], manifest: dict[str, object]) -> None:
        files = manifest["files"]
        assert isinstance(files, dict)
        files[name].update(fields)

    return change


def _altered(members: dict[str, bytes], manifest: dict[str, object]) -> None:
    data = bytearray(members["rank-1/log-000000.seg"])
    data[5000] ^= 1
    members["rank-1/log-000000.seg"] = bytes(data)


def _missing(members: dict[str, bytes], manifest: dict[str, object]) -> None:
    del members["rank-1/log-000000.seg"]


def _extra(members: dict[str, bytes], manifest: dict[str, object]) -> None:
    members["rank-1/cautions"] = b"event 1: nothing\n"


def _named(members: dict[str, bytes], manifest: dict[str, object]) -> None:
    manifest["job"] = "../../outside"


def _newer(members: dict[str, bytes], manifest: dict[str, object]) -> None:
    manifest["version"] = 99


@pytest.mark.parametrize(
    ("change", "line", "code"),
    [
        (_altered, "rank-1/log-000000.seg: its SHA-256 differs from the one in manifest.json", 5),
        (_missing, "'rank-1/log-000000.seg' is missing", 5),
        (_extra, "'rank-1/cautions' differs from its entry in manifest.json", 5),
        (_named, "cannot be a job's name", 5),
        (_newer, "is a pack v99, this rdb reads v1", 3),
        (_set("job.json", size=1 << 60), "'job.json' differs from its entry in manifest.json", 5),
        (_set("job.json", size=1 << 63), "expected size, data and sha256", 5),
        (_set("job.json", data=0), "job.json: larger than its entry in manifest.json says", 5),
        (_set("job.json", size="1"), "expected size, data and sha256", 5),
    ],
)
def test_a_pack_that_was_altered_is_refused(
    small: Path,
    tmp_path: Path,
    rdb_home: Path,
    change: Callable[[dict[str, bytes], dict[str, object]], None],
    line: str,
    code: int,
) -> None:
    bad = rewritten(small, tmp_path / "bad.rdb", change)
    with pytest.raises(RdbError) as refused:
        open_job(bad)
    assert line in refused.value.line()
    assert refused.value.exit_code == code
    packs = rdb_home / ".packs"
    assert not packs.exists() or not list(packs.iterdir())  # nothing half-unpacked stays


def test_links_and_huge_members_are_refused(small: Path, tmp_path: Path, rdb_home: Path) -> None:
    def make(name: str, attributes: int, declared: int | None) -> Path:
        with zipfile.ZipFile(small) as archive:
            members = {one: archive.read(one) for one in archive.namelist()}
        manifest = json.loads(members.pop("manifest.json"))
        out = tmp_path / name
        if declared is not None:
            manifest["files"]["job.json"].update(size=declared, data=declared)
        with zipfile.ZipFile(out, "w") as archive:
            for one, data in members.items():
                info = zipfile.ZipInfo(one)
                info.external_attr = (attributes if one == "job.json" else 0o100600) << 16
                archive.writestr(info, data)
            archive.writestr("manifest.json", json.dumps(manifest))
        if declared is not None:  # the archive tells the same lie
            data = bytearray(out.read_bytes())
            at = data.find(b"PK\x01\x02")
            while data[at + 46 : at + 54] != b"job.json":
                at = data.find(b"PK\x01\x02", at + 1)
            struct.pack_into("<I", data, at + 24, declared)
            out.write_bytes(data)
        return out

    with pytest.raises(DamagedRecording, match=r"'job.json' is not a plain file"):
        open_job(make("link.rdb", 0o120777, None))
    huge = 0xF0000000
    if shutil.disk_usage(tmp_path).free < huge:
        pattern = "bytes free"
    else:
        pattern = "not a pack, or|SHA-256|larger"
    with pytest.raises(RdbError, match=pattern):
        open_job(make("huge.rdb", 0o100600, huge))
    assert not (rdb_home / ".packs").exists() or not list((rdb_home / ".packs").iterdir())


def test_half_a_pack_is_refused(small: Path, tmp_path: Path, rdb_home: Path) -> None:
    half = tmp_path / "half.rdb"
    half.write_bytes(small.read_bytes()[: small.stat().st_size // 2])
    with pytest.raises(DamagedRecording, match="not a pack, or an incomplete one"):
        open_job(half)


def test_debug_information_is_found_by_build_id(build: Build, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy(build("basics.c"), program)
    identity = build_id(sections(program)[".note.gnu.build-id"])
    assert identity is not None
    detached = tmp_path / "debug" / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
    detached.parent.mkdir(parents=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, detached], check=True)

    assert list(debug_files(program, tmp_path / "debug")) == [detached]
    assert list(debug_files(program, tmp_path)) == []
    assert list(debug_files(Path(__file__), tmp_path)) == []


def test_a_job_is_still_a_directory(carried: Carried, rdb_home: Path) -> None:
    opened = open_job(carried.out)
    assert isinstance(opened, Job)
    assert opened.name == "heat"
    assert opened.path.is_relative_to(rdb_home.resolve())

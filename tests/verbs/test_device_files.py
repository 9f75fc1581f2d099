"""The files of the software HCA's device: what programs look for in /sys and /dev, by any call."""

from __future__ import annotations

from pathlib import Path

from conftest import run_rdb

SHELL = """
cd / && ls /dev/infiniband /sys/class/infiniband /sys/class/infiniband_verbs
node=/dev/infiniband/uverbs0
test -c $node -a -r $node -a -w $node && echo device
: <> $node && echo opened
stat -c %F /sys/class/infiniband /sys/class/infiniband/rdb0/ports/1/state
readlink -f /sys/class/infiniband/rdb0/ports/1
cd /sys/class/infiniband/rdb0/ports/1 && cat state link_layer lid gid_attrs/types/0 pkeys/0
cat /sys/class/infiniband_verbs/uverbs0/ibdev /sys/class/infiniband_verbs/abi_version
test -e /sys/class/infiniband/rdb1 || echo one
test -e /sys/class/infiniband_not || echo none
cd /sys/class && cat infiniband_verbs/uverbs0/ibdev ./infiniband_verbs/abi_version
cd / && test -e sys/class/infiniband/rdb0 && echo relative
"""
SAID = """/dev/infiniband:
rdma_cm
uverbs0

/sys/class/infiniband:
rdb0

/sys/class/infiniband_verbs:
abi_version
uverbs0
device
opened
directory
regular file
/sys/class/infiniband/rdb0/ports/1
4: ACTIVE
{link_layer}
{lid}
{gid_type}
0xffff
rdb0
6
one
none
rdb0
6
relative
"""


def show(home: Path, cwd: Path, name: str) -> str:
    line = ("run", "--hca=soft", "--name", name, "--", "sh", "-c", SHELL)
    done = run_rdb(home, cwd, *line)
    assert done.returncode == 0, done.stderr
    replayed = run_rdb(home, cwd, "replay", "--verify", name)
    assert replayed.returncode == 0, replayed.stderr
    return done.stdout


def test_files_of_the_device(rdb_home: Path, tmp_path: Path) -> None:
    said = show(rdb_home, tmp_path, "roce")
    assert said == SAID.format(link_layer="Ethernet", lid="0x0", gid_type="RoCE v2")


def test_files_of_a_port_with_a_lid(rdb_home: Path, tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("RDB_HCA_LID", "7")
    said = show(rdb_home, tmp_path, "infiniband")
    assert said == SAID.format(link_layer="InfiniBand", lid="0x7", gid_type="IB/RoCE v1")


def test_the_gids_are_those_of_verbs(rdb_home: Path, tmp_path: Path) -> None:
    line = ("run", "--hca=soft", "--name", "gids", "--", "sh", "-c")
    shell = (
        "ibv_devinfo -v | grep -F 'GID[';"
        "cat /sys/class/infiniband/rdb0/node_guid /sys/class/infiniband/rdb0/ports/1/gids/*"
    )
    done = run_rdb(rdb_home, tmp_path, *line, shell)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    told = [one for one in lines if "GID[" in one]
    guid, *files = lines[len(told) :]
    assert guid.startswith("0272:6462:") and len(files) == len(told) > 1
    addresses = [one.removeprefix("0000:" * 5 + "ffff:") for one in files]
    words = [one.split("::ffff:")[1].split(",")[0].split(".") for one in told]
    hexes = ["{:02x}{:02x}:{:02x}{:02x}".format(*map(int, one)) for one in words]
    assert addresses == hexes

"""Hosts that share no file system: each records on its own disk, agents bring what is asked for.

And the laptops: a pack goes on, live, on hosts that have neither the program nor its directory.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Build

from cluster.conftest import HOSTS, Cluster, made
from cluster.host import until
from cluster.live_job import LiveJob
from cluster.ssh import ssh_hosts
from cluster.test_coordinated import sums

pytestmark = pytest.mark.cluster
STORE = "/tmp/store"  # on each host's own disk
ENV = {"RDB_HOME": STORE}


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Iterator[Cluster]:
    """They see one folder, with the programs; not the stores."""
    folder = tmp_path_factory.mktemp("apart")
    for name in ("restarted", "live", "coordinated_mpi"):
        shutil.copy(build(f"mpi/{name}.c"), folder / name)
    for hosts in made(lambda: ssh_hosts(HOSTS, folder)):
        yield Cluster(hosts, folder)


@pytest.fixture(scope="module")
def recorded(apart: Cluster) -> subprocess.CompletedProcess[str]:
    hosts = apart.host_file("four", "node[1-4]")
    options = ("-n", "4", "--hosts", hosts, "--name", "job")
    done = apart.head.rdb("run", *options, "--", apart.folder / "restarted", env=ENV)
    assert done.returncode == 0, done.stderr
    assert "recorded job job (4 ranks" in done.stderr
    return done


def listed(apart: Cluster, number: int, path: str) -> list[str]:
    return apart.hosts[number].run("ls", f"{STORE}/{path}").stdout.split()


def test_each_host_has_its_own_rank(
    apart: Cluster, recorded: subprocess.CompletedProcess[str]
) -> None:
    for number in range(1, HOSTS + 1):
        ranks = [name for name in listed(apart, number, "job") if name.startswith("rank-")]
        assert ranks == [f"rank-{number - 1}"]
    assert not [name for name in listed(apart, 0, "job") if name.startswith("rank-")]


def test_info_lists_ranks_that_are_elsewhere(
    apart: Cluster, recorded: subprocess.CompletedProcess[str]
) -> None:
    shown = apart.head.rdb("info", "job", env=ENV)
    assert shown.returncode == 0, shown.stderr
    for rank in range(4):
        line = rf"^{rank} +exited 0, on its host only +\d+ .* node{rank + 1} .*restarted"
        assert re.search(line, shown.stdout, re.M), shown.stdout


def test_attach_brings_what_is_asked_for(
    apart: Cluster, recorded: subprocess.CompletedProcess[str]
) -> None:
    script = apart.host_file("where", "where")
    one = apart.head.rdb("attach", "job", "--rank", "2", "-x", script, env=ENV)
    assert one.returncode == 0 and "exited 0" in one.stdout, one.stdout + one.stderr
    assert [name for name in listed(apart, 0, "job") if name.startswith("rank-")] == ["rank-2"]
    everything = apart.head.rdb("attach", "job", "-x", script, env=ENV)
    assert everything.returncode == 0 and "0-3: " in everything.stdout, everything.stderr
    verified = apart.head.rdb("replay", "job", "--verify", env=ENV)
    assert verified.returncode == 0 and verified.stdout.count("agree") == 4, verified.stderr


def test_a_job_goes_to_hosts_that_do_not_see_it(
    apart: Cluster, recorded: subprocess.CompletedProcess[str]
) -> None:
    """What ranks of other hosts recorded comes here first, and all of it goes there as a pack."""
    hosts = apart.host_file("two", "node1 slots=2", "node2:2")
    options = ("--at", "100", "--hosts", hosts, "--name", "sent")
    done = apart.head.rdb("restart", "job", *options, env=ENV)
    assert done.returncode == 0, done.stderr
    assert "does not see /tmp/store/job: rdb sends it as a pack" in done.stderr
    assert sorted(done.stdout.split()) == sorted(recorded.stdout.split())
    assert ".carried" not in apart.head.run("ls", "-A", STORE).stdout


def test_a_pack_goes_on_on_laptops(
    apart: Cluster, recorded: subprocess.CompletedProcess[str]
) -> None:
    """They have rdb and MPI; the program and its job are gone."""
    head = apart.head
    head.rdb("attach", "job", "-x", apart.host_file("nothing"), env=ENV)
    packed = head.rdb("pack", "job", "-o", "/tmp/job.rdb", env=ENV)
    assert packed.returncode == 0, packed.stderr
    program = apart.folder / "restarted"
    program.rename(apart.folder / "gone")
    try:
        hosts = apart.host_file("laptops", "node2 slots=2", "node3:2")
        options = ("--at", "100", "--hosts", hosts, "--name", "again")
        done = head.rdb("restart", "/tmp/job.rdb", *options, env=ENV)
    finally:
        (apart.folder / "gone").rename(program)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(recorded.stdout.split())
    assert [one for one in listed(apart, 2, "again") if "rank-" in one] == ["rank-0", "rank-1"]
    shown = head.rdb("attach", "again", "-x", apart.host_file("where", "where"), env=ENV)
    assert shown.returncode == 0 and "0-3: " in shown.stdout, shown.stdout + shown.stderr
    verified = head.rdb("replay", "again", "--verify", env=ENV)
    assert verified.returncode == 0, verified.stderr


@pytest.fixture(scope="module")
def live(apart: Cluster) -> LiveJob:
    hosts = apart.host_file("four", "node[1-4]")
    line = ["run", "-n", "4", "--hosts", hosts, "--name", "live", "--", apart.folder / "live"]
    return LiveJob(apart, STORE, [*apart.command, *line])


def test_following_a_job_that_runs(live: LiveJob) -> None:
    with live:
        said = live.console("pause", "follow", "where", "resume")
        assert "0-3: paused" in said and "main () at live.c" in said
        asked = live.rdb("checkpoint", "live", "--timeout", "60")
        assert asked.returncode == 0 and asked.stdout.count(": checkpoint ") == 4, asked.stderr
        assert live.end() == 0


def test_a_debugger_on_any_rank_of_a_pack_that_goes_on(apart: Cluster, live: LiveJob) -> None:
    """On laptops, while it runs there, from a host that runs none of it."""
    live.rdb("attach", "live", "-x", apart.host_file("nothing"))
    assert live.rdb("pack", "live", "-o", "/tmp/live.rdb").returncode == 0
    live.stop.unlink()
    hosts = apart.host_file("laptops", "node2 slots=2", "node4:2")
    line = ["restart", "/tmp/live.rdb", "--at", "15", "--hosts", hosts, "--name", "onward"]
    with LiveJob(apart, STORE, [*apart.command, *line], "onward", live) as onward:
        for rank, host in ((0, "node2"), (3, "node4")):
            said = onward.console(
                *("pause", "follow", f"focus {rank}", "where", "print rank", "print turn"),
                *("reverse-finish", "print turn", "resume"),
            )
            assert "main () at live.c" in said or "work () at live.c" in said, said
            assert f"$1 = {rank}" in said, said
            turns = [int(turn) for turn in re.findall(r"\$[23] = (\d+)", said)]
            assert len(turns) == 2 and turns[1] <= turns[0], said
            shown = onward.rdb("info", "onward").stdout  # of what has been brought
            assert re.search(rf"^{rank} +running .* {host} ", shown, re.M), shown
        assert onward.end() == 0


@pytest.mark.parametrize("recorded_again", [True, False])
def test_a_checkpoint_of_production_goes_on_on_laptops(
    apart: Cluster, recorded_again: bool
) -> None:
    """It ran without a recording, on one host; its pack goes on on two that saw none of it."""
    head, gate, output = apart.head, apart.folder / "gate", apart.folder / "production.out"
    name = "production" if recorded_again else "other"
    gate.unlink(missing_ok=True)
    output.write_text("")
    program = apart.folder / "coordinated_mpi"
    line = ["run", "--record=off", "-n", "3", "--name", name, "--", program, "20", gate]
    job = head.start(*apart.command, *line, env=ENV, output=output)
    until("half of it", lambda: "half\n" in output.read_text() or job.poll() is not None)
    taken = head.rdb("checkpoint", name, "--timeout", "60", env=ENV)
    assert taken.returncode == 0, taken.stderr
    packed = head.rdb("pack", name, "-o", f"/tmp/{name}.rdb", env=ENV)
    assert packed.returncode == 0, packed.stderr
    gate.touch()
    assert job.wait(90) == 0, output.read_text()
    hosts = apart.host_file("laptops", "node2 slots=2", "node3:1")
    options = ["--hosts", hosts, "--name", f"{name}-again"]
    options += ["--record", "full"] if recorded_again else []
    done = head.rdb("restart", f"/tmp/{name}.rdb", *options, env=ENV)
    assert done.returncode == 0, done.stderr
    assert sums(done.stdout) == sums(output.read_text())


def test_what_did_not_start_leaves_nothing(apart: Cluster) -> None:
    """Not on the head, and not where it was prepared."""
    hosts = apart.host_file("four", "node[1-4]")
    nothing = Path("/bin/false")
    script = apart.folder / "fails"
    script.write_bytes(nothing.read_bytes())
    script.chmod(0o755)
    done = apart.head.rdb(
        *("run", "-n", "4", "--hosts", hosts, "--name", "none", "--mpi", "nowhere", "--", script),
        env=ENV,
    )
    assert done.returncode == 2 and "rdb has no library for this MPI" in done.stderr
    for number in range(HOSTS + 1):
        assert "none" not in listed(apart, number, "")


def test_a_host_that_cannot_be_prepared(apart: Cluster) -> None:
    """Another job's directory of that name stays; the hosts before it have none any more."""
    assert apart.hosts[3].run("mkdir", "-p", f"{STORE}/taken/rank-0").returncode == 0
    hosts = apart.host_file("four", "node[1-4]")
    line = ("run", "-n", "4", "--hosts", hosts, "--name", "taken", "--", apart.folder / "restarted")
    done = apart.head.rdb(*line, env=ENV)
    assert done.returncode != 0 and f"{STORE}/taken exists already" in done.stderr, done.stderr
    for number in range(HOSTS + 1):
        assert ("taken" in listed(apart, number, "")) is (number == 3)


def test_an_error_after_the_program_ran(apart: Cluster) -> None:
    """What was recorded elsewhere can be reached still."""
    script = apart.folder / "full.py"
    script.write_text(
        "import rdb.agents.mirror as mirror, rdb.cli as cli\n"
        "async def full(self): raise OSError(28, 'No space left on device')\n"
        "mirror.Mirror.run = full\n"
        "raise SystemExit(cli.main())\n"
    )
    hosts = apart.host_file("two", "node[1-2]")
    line = ("run", "-n", "2", "--hosts", hosts, "--name", "full", "--", apart.folder / "restarted")
    done = apart.head.run(apart.command[0], str(script), *map(str, line), env=ENV)
    assert done.returncode != 0, done.stderr
    assert "job.json" in listed(apart, 0, "full")
    assert listed(apart, 1, "full/rank-0")


def test_rm_removes_what_the_hosts_have(
    apart: Cluster, recorded: subprocess.CompletedProcess[str]
) -> None:
    assert listed(apart, 1, "job")
    done = apart.head.rdb("rm", "job", env=ENV)
    assert done.returncode == 0 and done.stderr == "rdb: removed job\n"
    for number in range(HOSTS + 1):
        assert "job" not in listed(apart, number, "")

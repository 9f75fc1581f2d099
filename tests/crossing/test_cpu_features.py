"""Instructions hidden from the recorded program, and recordings from another CPU."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import deadlines
import pytest
from alone import record
from conftest import Build, Rdb

from rdb.paths import rdb_exec_path
from rdb.recording import open_job

LOADER = "/lib64/ld-linux-x86-64.so.2"
# Where in the C library its IFUNC functions were resolved to, by the features that it was shown.
RESOLVED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(void)
{
	static const char *const names[] = {"memcpy", "memset", "strlen", "strchr", "memcmp"};
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		Dl_info info;
		void *at = dlsym(RTLD_DEFAULT, names[i]);
		if (!at || !dladdr(at, &info))
			return 1;
		printf("%s %#lx\\n", names[i], (unsigned long)((char *)at - (char *)info.dli_fbase));
	}
	return 0;
}
"""


@cache
def own_level() -> int:
    answer = subprocess.run([rdb_exec_path(), "--probe"], capture_output=True, check=True).stdout
    return int(json.loads(answer)["cpu"]["level"])


needs_v4 = pytest.mark.skipif(own_level() < 4, reason="this CPU has nothing above x86-64-v3")
needs_v3 = pytest.mark.skipif(own_level() < 3, reason="this CPU has nothing above x86-64-v2")


@pytest.fixture
def resolved(build_text: Callable[..., Path]) -> Path:
    return build_text("resolved", RESOLVED)


@needs_v4
def test_the_c_library_chooses_nothing_above_v3(resolved: Path, rdb: Rdb) -> None:
    native = subprocess.run([resolved], capture_output=True, text=True, check=True).stdout
    hidden = rdb("run", "--", resolved)
    shown = rdb("run", "--cpu=native", "--", resolved)
    assert hidden.returncode == shown.returncode == 0, hidden.stderr + shown.stderr
    assert shown.stdout == native
    assert hidden.stdout != native
    # The same as glibc's own tool, asked for a CPU without AVX-512, says.
    tunables = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW"}
    without = subprocess.run(
        [resolved], env={**os.environ, **tunables}, capture_output=True, text=True, check=True
    )
    assert hidden.stdout == without.stdout


@needs_v3
def test_the_c_library_chooses_nothing_above_v2_when_asked_to(resolved: Path, rdb: Rdb) -> None:
    usual = rdb("run", "--", resolved)
    hidden = rdb("run", "--cpu=x86-64-v2", "--", resolved)
    assert hidden.returncode == usual.returncode == 0, hidden.stderr + usual.stderr
    assert hidden.stdout != usual.stdout
    assert open_job("resolved-2").rank(0).meta["cpu"]["shown"] == 2
    assert rdb("replay", "resolved-2").returncode == 0


@pytest.mark.parametrize(("option", "highest"), [("native", 4), ("x86-64-v3", 3), ("x86-64-v2", 2)])
def test_libraries_for_hidden_features_are_not_searched(
    option: str, highest: int, rdb: Rdb
) -> None:
    """ld.so says which glibc-hwcaps folders it looks into."""
    done = rdb("run", f"--cpu={option}", "--", LOADER, "--help")
    searched = [line.split()[0] for line in done.stdout.splitlines() if "supported, sea" in line]
    expected = [f"x86-64-v{n}" for n in range(min(highest, own_level()), 1, -1)]
    assert [folder for folder in searched if folder.startswith("x86-64-v")] == expected


def test_the_dynamic_linker_as_a_program(rdb: Rdb) -> None:
    """It knows by AT_ENTRY that it is one; its start-up, which reads rdtsc, is replayed."""
    done = rdb("run", "--name", "job", "--hash-every", "1", "--", LOADER, "/bin/echo", "hi")
    assert (done.returncode, done.stdout) == (0, "hi\n"), done.stderr
    (result,) = json.loads(rdb("replay", "job", "--json").stdout)
    assert result["ok"], result


@pytest.mark.parametrize("record", ["on", "off"])
def test_what_a_level_lacks_is_not_active(record: str, rdb: Rdb) -> None:
    """LZCNT, one of x86-64-v3, is told by a leaf of its own."""
    if own_level() < 3:
        pytest.skip("this CPU has nothing above x86-64-v2")
    key = "x86.cpu_features.features[0x2].active[0x2]="
    active = {}
    for level in ("native", "x86-64-v3", "x86-64-v2"):
        options = ["--record=off"] if record == "off" else []
        done = rdb("run", f"--cpu={level}", *options, "--", LOADER, "--list-diagnostics")
        (value,) = [line[len(key) :] for line in done.stdout.splitlines() if line.startswith(key)]
        active[level] = int(value, 0)
    assert active["native"] & 0x20
    assert active["x86-64-v3"] == active["native"]
    assert active["x86-64-v2"] == active["native"] & ~0x20


@pytest.mark.parametrize("record", ["full", "off"])
@pytest.mark.parametrize("level", ["native", "x86-64-v3"])
def test_what_is_no_event_is_shown_at_no_level(record: str, level: str, rdb: Rdb) -> None:
    """RDPID, WAITPKG and RDPRU answer differently each time."""
    done = rdb("run", f"--cpu={level}", f"--record={record}", "--", LOADER, "--list-diagnostics")
    shown = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    feature = "x86.cpu_features.features[{}].{}[{}]"
    for kind in ("cpuid", "active"):
        assert not int(shown[feature.format("0x1", kind, "0x2")], 0) & 0x400020
        assert not int(shown[feature.format("0x5", kind, "0x1")], 0) & 0x10


def test_the_environment_stays_the_users(rdb: Rdb) -> None:
    env = {name: value for name, value in os.environ.items() if name != "GLIBC_TUNABLES"}
    done = rdb("run", "--cpu=x86-64-v2", "--", "/usr/bin/printenv", "GLIBC_TUNABLES", env=env)
    assert (done.returncode, done.stdout) == (1, "")
    env["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=-ERMS:glibc.malloc.check=1"
    done = rdb("run", "--", "/usr/bin/printenv", "GLIBC_TUNABLES", env=env)
    assert done.stdout.strip() == env["GLIBC_TUNABLES"]


@needs_v3
def test_the_choice_is_handed_on_over_exec(rdb: Rdb) -> None:
    script = f"exec {LOADER} --help"
    done = rdb("run", "--cpu=x86-64-v2", "--", "/bin/sh", "-c", script)
    assert "x86-64-v2 (supported, searched)" in done.stdout
    assert "x86-64-v3 (supported, searched)" not in done.stdout


def test_exec_has_the_option_too(rdb: Rdb) -> None:
    assert rdb("exec", "--cpu=x86-64-v2", "--", "/bin/true").returncode == 0
    assert open_job("true-1").rank(0).meta["cpu"]["shown"] == min(2, own_level())
    refused = rdb("exec", "--cpu", "z80", "--", "/bin/true")
    assert refused.returncode == 2
    assert (
        refused.stderr
        == "rdb: exec: --cpu z80: no such choice; write native, x86-64-v3, x86-64-v2\n"
    )
    assert rdb("run", "--cpu=z80", "--", "/bin/true").returncode == 2


@needs_v3
def test_a_recording_of_a_better_cpu_is_refused_with_one_line(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record(tmp_path, build("basics.c"))
    made.expect_equal()
    monkeypatch.setenv("RDB_CPU_LEVEL", "2")
    code, answer = made.verify()
    assert code == 5
    (line,) = str(answer["what"]).splitlines()
    assert "recorded with instructions up to x86-64-v3, this CPU has x86-64-v2; " in line
    assert "--cpu=x86-64-v2" in line


@needs_v3
def test_the_refusal_reaches_the_user(
    rdb: Rdb, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rdb("run", "--name", "job", "--", build("basics.c")).returncode == 3
    monkeypatch.setenv("RDB_CPU_LEVEL", "2")
    done = rdb("replay", "job")
    assert done.returncode == 5
    assert "this CPU has x86-64-v2" in done.stderr
    assert "Traceback" not in done.stderr


@needs_v4
def test_a_recording_with_hidden_features_runs_on_a_lesser_cpu(
    tmp_path: Path, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = record(tmp_path, build("basics.c"))
    monkeypatch.setenv("RDB_CPU_LEVEL", "3")
    made.expect_equal()
    done = subprocess.run(
        [rdb_exec_path(), "--replay", made.rank_dir, "--files", made.files, "--verify"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


XSTATE = """
#include <assert.h>
#include <arch/x86_64/base/xstate.c>
enum { SIZE = 4096 };
static uint8_t here[SIZE], there[SIZE];
static void make(uint8_t *frame, uint8_t fill, uint32_t size, uint64_t features, uint64_t in_use)
{
	const struct xstate_words sw = {0x46505853, size, features, size - 4};
	memset(frame, fill, SIZE);
	memcpy(frame + SW_BYTES, &sw, sizeof(sw));
	memcpy(frame + LEGACY, &in_use, sizeof(in_use));
}
static uint64_t in_use(void)
{
	uint64_t bits;
	memcpy(&bits, here + LEGACY, sizeof(bits));
	return bits;
}
int main(void)
{
	make(here, 1, 2436, 0xe7, 0xe7); /* the same kind: all of it */
	make(there, 2, 2436, 0xe7, 0x46);
	xstate_put(here, there);
	assert(!memcmp(here, there, 464) && !memcmp(here + 512, there + 512, 1924) && here[2436] == 1);
	make(here, 1, 836, 7, 7); /* no AVX-512 here: what it holds may not be said to be in use */
	make(there, 2, 2436, 0xe7, 0xe7);
	xstate_put(here, there);
	assert(in_use() == 7 && here[0] == 2 && here[AVX] == 2 && here[AVX + 255] == 2);
	assert(here[832] == 1); /* the kernel's closing mark */
	assert(!memcmp(here + SW_BYTES + 4, &(uint32_t){836}, 4));
	make(here, 1, 2436, 0xe7, 0xe7); /* more here: it starts afresh */
	make(there, 2, 836, 7, 3);
	xstate_put(here, there);
	assert(in_use() == 3 && here[AVX] == 0 && here[2431] == 0 && here[2432] == 1);
	make(here, 1, 2700, 0x2e7, 0x2e7); /* PKRU stays */
	xstate_put(here, there);
	assert(in_use() == 0x203 && here[AVX] == 0 && here[2688] == 1 && here[0] == 2);
	make(here, 1, 2700, 0x2e7, 0xe7);
	xstate_put(here, there);
	assert(in_use() == 3 && here[AVX] == 0 && here[2688] == 0);
	memset(here, 1, SIZE); /* FXSAVE only */
	xstate_put(here, there);
	assert(here[0] == 2 && here[SW_BYTES] == 1 && here[LEGACY] == 1);
	return 0;
}
"""


def test_vector_state_of_another_cpu(build_text: Callable[..., Path]) -> None:
    """A bit too many in XSTATE_BV would kill every replica at its start."""
    folder = Path(__file__).parents[2] / "interposer"
    program = build_text("xstate_test", XSTATE, f"-I{folder}")
    done = deadlines.native([program], check=False)
    assert done.returncode == 0, done.stderr

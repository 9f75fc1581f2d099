"""What tests cost, and the fixtures that they share: seconds of processors, and of the clock.

`RDB_TEST_COSTS=FILE make test` writes a line for each to FILE; `python tests/kit/costs.py FILE`
sums them up.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_GROUPS = Path("/sys/fs/cgroup")


class _Processors:
    """Seconds that this process and all below it have used.

    A control group also knows of processes that nobody has waited for (cgroups(7)).
    """

    def __init__(self) -> None:
        self._group: Path | None = None
        for parent, counter in ((_GROUPS / "cpuacct", "cpuacct.usage"), (_GROUPS, "cpu.stat")):
            group = parent / f"rdb-test-costs-{os.getpid()}"
            try:
                group.mkdir()
                (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
            except OSError:
                continue
            self._group = group / counter
            break

    def close(self) -> None:
        if self._group is not None:
            group = self._group.parent
            with suppress(OSError):  # something that a test has started is still in it
                (group.parent / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
                group.rmdir()

    def used_s(self) -> float:
        if self._group is not None:
            words = self._group.read_text(encoding="ascii").split()
            return int(words[0]) / 1e9 if len(words) == 1 else int(words[1]) / 1e6
        return sum(
            used.ru_utime + used.ru_stime
            for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        )


class Costs:
    """A plug-in for pytest."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._processors = _Processors()

    def pytest_unconfigure(self) -> None:
        self._processors.close()

    @contextmanager
    def _told(self, what: str, node: str) -> Iterator[None]:
        used_s, clock_s = self._processors.used_s(), time.monotonic()
        yield
        used_s, clock_s = self._processors.used_s() - used_s, time.monotonic() - clock_s
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{used_s:.3f}\t{clock_s:.3f}\t{what}\t{node}\n")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        with self._told("test", item.nodeid):
            yield

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Iterator[None]:
        if fixturedef.scope == "function":
            yield
            return
        with self._told(
            "fixture", f"{fixturedef.argname} of {request.node.nodeid or 'the session'}"
        ):
            yield


def main(path: Path) -> None:
    """The sum, and the files and tests that cost most."""
    tests: list[tuple[float, float, str]] = []
    files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for line in path.read_text(encoding="utf-8").splitlines():
        used, clock, what, node = line.split("\t")
        if what == "test":
            tests.append((float(used), float(clock), node))
            of_file = files[node.partition("::")[0]]
            of_file[0] += float(used)
            of_file[1] += float(clock)
        else:
            tests.append((float(used), float(clock), f"(fixture) {node}"))
    total = [sum(each) for each in zip(*files.values(), strict=True)]
    print(f"{total[0]:9.1f} {total[1]:9.1f}  all")
    for node, (used_s, clock_s) in sorted(files.items(), key=lambda row: -row[1][0])[:60]:
        print(f"{used_s:9.1f} {clock_s:9.1f}  {node}")
    print()
    for used_s, clock_s, node in sorted(tests, reverse=True)[:120]:
        print(f"{used_s:9.1f} {clock_s:9.1f}  {node}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

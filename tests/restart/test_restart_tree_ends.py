"""rdb restart of a program whose children had ended, or live as another program."""

from __future__ import annotations

import pytest
from conftest import Build
from trees import Recorded


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory, build: Build) -> Recorded:
    folder = tmp_path_factory.mktemp("ends")
    (folder / "input").write_text("firstlast")
    return Recorded(folder, str(build("live_tree_ends.c")))


def test_all_are_as_they_were(ends: Recorded) -> None:
    assert ends.said == "all as they were\n"
    (at,) = ends.events("getppid")
    branch = ends.restart(at)
    assert set(branch.process(0).children) == {3}
    (copy,) = branch.path.glob("later/*-out")
    assert copy.read_text() == "before after"
    again = ends.rdb("restart", branch.name, "--at", "1", "--name", "again")
    assert (again.returncode, again.stdout) == (0, ends.said), again.stderr

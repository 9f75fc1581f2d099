"""A program that is stopped and goes on again and again, as where a batch system requeues it."""

from __future__ import annotations

from pathlib import Path

import deadlines
import pytest
from running import DEADLINE_S, BuildText, Running

PROGRAM = """
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char name[32], more[32];
    for (int life = 0; life < %d; life++) {
        FILE *f = fopen("log", "a");
        fprintf(f, "%d\\n", life);
        fclose(f);
        printf("life %d\\n", life);
        fflush(stdout);
        snprintf(name, sizeof(name), "gate-%d", life);
        snprintf(more, sizeof(more), "more-%d", life);
        for (int done = 0; access(name, F_OK); usleep(1000))
            if (!done && !access(more, F_OK)) {
                done = 1;
                f = fopen("log", "a");
                fputs("lost\\n", f);
                fclose(f);
                puts("more");
                fflush(stdout);
            }
    }
    return 0;
}
"""


@pytest.mark.parametrize(("place", "lives"), [((), 3), (("--in-place",), 10)])
def test_lives(place: tuple[str, ...], lives: int, tmp_path: Path, build_text: BuildText) -> None:
    program = build_text("program", PROGRAM.replace("life < %d", f"life < {lives}"))
    home = tmp_path / "home"
    life = Running(home, tmp_path, "first", "--", str(program))
    life.until("life 0")
    for number in range(lives - 1):
        taken = life.rdb("checkpoint", "first", "--timeout", "90")
        assert taken.returncode == 0, taken.stderr
        (tmp_path / f"more-{number}").touch()
        life.until("more")
        # the checkpoint may be between the program's two looks: its next life must not find this
        (tmp_path / f"more-{number}").unlink()
        name = "first" if not number else f"first-branch-{number}"
        life.name = name
        life.kill()
        (tmp_path / f"gate-{number}").touch()
        life = Running(home, tmp_path, "", *place, restart="first")
        life.until(f"life {number + 1}")
    (tmp_path / f"gate-{lives - 1}").touch()
    _, told = deadlines.communicate(life.process, DEADLINE_S)
    assert life.process.returncode == 0, told
    names = [line for line in told.splitlines() if " went on as " in line]
    log = Path(names[0].split(" went on as ")[1]) if names else tmp_path / "log"
    assert log.read_text() == "".join(f"{number}\n" for number in range(lives))
    assert bool(names) is not bool(place)

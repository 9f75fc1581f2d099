"""rdb restart of scripts: files that children have written to, which have ended before the cut."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from trees import Recorded

BuildText = Callable[..., Path]

REDIRECTS = """
for i in 1 2 3; do /bin/echo one $i > f$i; (/bin/echo a; echo b; exec /bin/echo $i) > g$i; done
/bin/echo more >> f2; rm g1; mv g2 g4; /bin/echo x > f3
cat f1 f2 f3 g3 g4; echo f* g*
"""


def test_what_children_wrote_by_a_descriptor_that_is_closed(tmp_path: Path) -> None:
    """The shell opened it, and closed it when the command had ended; some is changed later."""
    shell = Recorded(tmp_path, "sh", "-c", REDIRECTS)
    assert shell.said == "one 1\none 2\nmore\nx\na\nb\n3\na\nb\n2\nf1 f2 f3 g3 g4\n"
    waits = shell.events("wait4")
    for at in (waits[len(waits) // 3], waits[len(waits) // 2] + 1, waits[-3]):
        shell.restart(at)


LOGS = """
exec 3>>log
for i in 1 2 3; do sh -c "echo x$i >> log"; (echo y$i >&3); /bin/echo z$i >> log; done
exec 3>&-
cat log; rm log
"""


def test_a_log_that_several_append_to(tmp_path: Path) -> None:
    """Each by itself: what is in it at the cut is what they had written by then, in that order; the
    file is gone by now."""
    shell = Recorded(tmp_path, "sh", "-c", LOGS)
    assert shell.said == "".join(f"x{i}\ny{i}\nz{i}\n" for i in (1, 2, 3))
    forks = shell.events("clone", "fork", "vfork")
    waits = shell.events("wait4")
    for at in (waits[len(waits) // 2], forks[-3]):
        shell.restart(at)


WATCHES = """
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>
int main(void)
{
    char b[4096];
    getppid();
    int file = open("log", O_CREAT | O_TRUNC | O_WRONLY, 0600), queue = inotify_init();
    struct pollfd in = {queue, POLLIN, 0};
    if (inotify_add_watch(queue, "log", IN_MODIFY) != 1 || write(file, "x", 1) != 1)
        return 1;
    const int found = poll(&in, 1, 3000);
    printf("%d %d\\n", found, found && read(queue, b, sizeof(b)) > 0);
    return 0;
}
"""


def test_a_branch_watches_its_own_files(tmp_path: Path, build_text: BuildText) -> None:
    program = Recorded(tmp_path, str(build_text("watches", WATCHES)))
    assert program.said == "1 1\n"
    program.restart(program.events("getppid")[0])

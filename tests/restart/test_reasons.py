"""The reason that a restart or a checkpoint gives when a system call has failed in the C core.

Each program is one source file of the core; what that file uses of others fails or is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import deadlines
import pytest

INTERPOSER = Path(__file__).parents[2] / "interposer"

HEAD = """
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "{source}"
struct lower lower;
void live_refuse(const char *fmt, ...)
{{
	va_list words;
	va_start(words, fmt);
	vprintf(fmt, words);
	exit(0);
}}
int main(void)
{{
"""

DOORS = """
	struct place other = {.rank = 3, .ndoors = 1, .local = "nobody-listens-here"};
	other.doors[0] = (struct door){.port = 1, .address = {htonl(INADDR_LOOPBACK)}};
"""
CLOSES = """
}
int lower_fd(int fd) { return fd; }
void lower_fd_close(int fd) { close(fd); errno = 0; }
"""

UNREACHED = "rank 3 cannot be reached to connect sockets again: "
REFUSED, NO_ROUTE = UNREACHED + "Connection refused", UNREACHED + "No route to host"
TABLE = "struct open_table open_table;"


@pytest.mark.parametrize(
    ("source", "body", "reason"),
    [
        ("sockets/doors", DOORS + "door_connect_local(&other);" + CLOSES, REFUSED),
        ("sockets/doors", DOORS + "door_connect(&other);" + CLOSES, REFUSED),
        ("sockets/doors", DOORS + "other.ndoors = 0; door_connect(&other);" + CLOSES, NO_ROUTE),
        ("sockets/doors", DOORS + "door_connect_listener(&other, 1);" + CLOSES, REFUSED),
        (
            "files/library_files",
            "open_table.opened[0] = (struct opened){.kind = LIBRARY, .pipe = 1};"
            "open_files_library(1, -1, 0); }"
            "int lower_fd(int fd) { return -EMFILE; } void open_table_begin(void) {}"
            "struct opened *open_at(uint64_t fd) { return NULL; }" + TABLE,
            "a descriptor of the verbs library cannot be copied: Too many open files",
        ),
        (
            "files/kernel_files_save",
            'lower.opt.dir = "/tmp";'
            "puts(save_written(kernel_look.opened, 0)); } struct kernel_look kernel_look;"
            "const char *kernel_files_cannot(const char *format, ...)"
            "{ static char text[4096]; va_list words; va_start(words, format);"
            "vsnprintf(text, sizeof(text), format, words); return text; }"
            "int descriptor_open(int dir, const char *path, int flags, mode_t mode)"
            "{ return -EACCES; }"
            "long apart(long (*work)(void *), void *arg) { return work(arg); }",
            "its descriptor 0: the file cannot be opened again: : Permission denied",
        ),
        (
            "base/open_table",
            "struct opened f; open_put(NUMBERS, &f, true); }",
            "it has opened descriptor 4096, and a restart supports those below 4096",
        ),
    ],
)
def test_it_is_that_of_the_call(
    source: str, body: str, reason: str, build_text: Callable[..., Path]
) -> None:
    path = f"restart/{source}.c"
    flags = ("-w", "-std=gnu17", "-D_GNU_SOURCE", "-mfsgsbase", f"-I{INTERPOSER}", "-no-pie")
    flags += ("-ffunction-sections", "-Wl,--gc-sections,--unresolved-symbols=ignore-all")
    program = build_text("reason", HEAD.format(source=path) + body, *flags)
    assert deadlines.native([program]).stdout.rstrip("\n") == reason

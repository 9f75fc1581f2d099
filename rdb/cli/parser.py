"""The commands and their arguments.  Each command is a function of a module in its own file."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, cast

from rdb import __version__
from rdb.errors import Usage
from rdb.launch.command import CHECK_CHOICES, CPU_CHOICES, LAUNCHERS
from rdb.launch.hca import HCA_CHOICES

_EPILOG = """exit codes: run, exec and restart pass the program's own on (128+n for signal n,
130 Ctrl-C; 127 not found, 126 cannot be executed, 125 rdb itself failed, 2 usage, 6 a tool is
missing).  Others: 0 ok, 1 a negative answer, 2 usage, 3 another version, 4 unknown job, rank or
position, 5 damaged or diverged recording, 6 a tool is missing, 130 Ctrl-C."""


_JOB_HELP = "name of the job, or path of its directory or of a pack"
_HOSTS_HELP = "hosts of the ranks, if the job does not name them"


_NO_COMMAND = re.compile(r"argument COMMAND: invalid choice: '(.*?)' \(choose")


class _Parser(argparse.ArgumentParser):
    """Makes usage errors one line, as all other errors are."""

    commands: Sequence[str] = ()
    """Names to suggest for an unknown command."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse, but an error about unknown arguments names the command, too."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            what = getattr(parsed, "command", None)
            where, hint = (f"{what}: ", f"`rdb {what} --help`") if what else ("", self._hint())
            raise Usage(f"{where}unknown arguments: {' '.join(unknown)}", hint)
        return parsed

    def error(self, message: str) -> NoReturn:
        strange = _NO_COMMAND.match(message)
        if strange is not None:
            import difflib  # late import: wrong commands are rare

            # argparse would list all commands, internal ones included
            near = difflib.get_close_matches(strange[1], self.commands, 1)
            meant = f"did you mean `rdb {near[0]}`? " if near else ""
            raise Usage(f"there is no command {strange[1]!r}", f"{meant}{self._hint()}")
        raise Usage(
            f"{self.prog.removeprefix('rdb').strip()}: {message}".lstrip(": "), self._hint()
        )

    def _hint(self) -> str:
        return f"`{self.prog} --help`"


class _Unasked:
    """Stands for a command whose arguments nobody wants: making them all costs 15 ms."""

    def __getattr__(self, name: str) -> Callable[..., _Unasked]:
        return lambda *_, **__: self


def build_parser(only: str | None = None) -> _Parser:
    """ONLY: the command whose arguments are wanted; None: all."""
    parser = _Parser(
        prog="rdb",
        description="A reversible debugger for MPI programs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rdb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    names: list[str] = []

    def command(
        name: str, text: str, target: str | None, json: bool = False
    ) -> argparse.ArgumentParser:
        names.append(name)
        if only not in (None, name):
            return cast(argparse.ArgumentParser, _Unasked())
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(target=target)
        if json:
            sub.add_argument("--json", action="store_true", help="print JSON")
        return sub

    run = command("run", "record a job", "rdb.cli.run:run_command")
    run.add_argument("--name", help="the job's name (default: PROG-1, PROG-2, ...)")
    run.add_argument("-n", type=_count, metavar="N", help="start N MPI ranks with mpirun")
    run.add_argument(
        "--hash-every",
        type=_natural,
        metavar="N",
        help="store a hash of memory every N events (0: never)",
    )
    run.add_argument(
        "--checkpoint-every",
        metavar="N",
        help="take a checkpoint every N, such as 1000events, 64MB (of log) or 10s; 0: none "
        "(default: 64MB or 10s, as long as checkpoints cost at most 1%% of the time; with "
        "--record=off none). With --record=off N may be auto, which needs --mtbf",
    )
    run.add_argument(
        "--mtbf",
        type=_count,
        metavar="S",
        help="mean time between failures in seconds, for --checkpoint-every auto",
    )
    run.add_argument(
        "--keep",
        metavar="N",
        help="keep only the newest N of each process, such as 4checkpoints, 500MB or 60s",
    )
    run.add_argument(
        "--log-budget",
        metavar="N",
        help="stop recording a process when its log reaches N, such as 500MB or 2GB; the program "
        "goes on",
    )
    run.add_argument(
        "--kept-budget",
        metavar="N",
        help="keep at most N, such as 500MB or 2GB, on each host, of what the job overwrites or "
        "deletes in files (restarts need it)",
    )
    run.add_argument(
        "--slice",
        type=_natural,
        metavar="MS",
        help="a computing thread gives way to a waiting one after MS milliseconds (default: 20)",
    )
    run.add_argument(
        "--chaos",
        action="store_true",
        help="make rare orders frequent: threads and ranks are late at random, and MPI_ANY_SOURCE "
        "takes any message that has come",
    )
    run.add_argument(
        "--record",
        choices=("full", "order", "lean", "off"),
        default="full",
        help="full (default): log all that the program receives; order: log the order of messages, "
        "not their contents, which rdb expand regenerates; lean: log a hash of each large message, "
        "whose bytes a debugger regenerates from its sender's recording; off: no recording, only "
        "checkpoints; threads run in parallel",
    )
    run.add_argument(
        "--check",
        choices=CHECK_CHOICES,
        help="how much of the program's output each replay compares: sample (default: of pieces "
        "above 64 KiB a sample), full (all of it), off (nothing, to measure the cost)",
    )
    run.add_argument(
        "--lax",
        action="store_true",
        help="let the kernel answer system calls that rdb does not know, instead of stopping",
    )
    run.add_argument("--no-children", action="store_true", help="do not record child processes")
    run.add_argument(
        "--cpu",
        choices=CPU_CHOICES,
        metavar="LEVEL",
        help="highest x86-64 level shown to the program: x86-64-v2, x86-64-v3 (default), native",
    )
    run.add_argument(
        "--hca",
        choices=HCA_CHOICES,
        help="the HCA that the program's verbs use: soft (a software HCA over TCP), real (the "
        "machine's devices), auto (real, if there are any; default, or $RDB_HCA)",
    )
    run.add_argument(
        "--mpi",
        metavar="NAME",
        help="the MPI that the program runs with, and its mpirun: openmpi, mpich (default: "
        "$RDB_MPI, or that of the mpirun in PATH)",
    )
    run.add_argument(
        "--launcher-arg",
        action="append",
        default=[],
        metavar="ARG",
        help="pass one more argument to mpirun",
    )
    _placement(run)
    run.usage = "rdb run [OPTIONS] -- PROG ARGS [: -n N -- PROG ARGS]..."
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROG ARGS")

    command("exec", "record this process as a rank of a job (for launchers)", None)

    listing = command("ls", "list the recorded jobs", "rdb.cli.jobs:ls_command", json=True)
    listing.epilog = "Reads the ends of the logs only; `rdb info` and `rdb replay` read all."
    info = command(
        "info", "show a job's ranks and how they ended", "rdb.cli.info:info_command", True
    )
    info.add_argument("job", help=_JOB_HELP)
    info.add_argument(
        "--at",
        type=_natural,
        metavar="EVENT",
        help="show queue pairs as they were at EVENT, not at the end",
    )
    info.add_argument("--hosts", metavar="FILE", help=_HOSTS_HELP)
    remove = command("rm", "remove recorded jobs", "rdb.cli.jobs:rm_command")
    remove.add_argument("job", nargs="+", help=_JOB_HELP)

    expand = command(
        "expand",
        "regenerate the message contents of a job recorded with --record=order or --record=lean",
        "rdb.cli.expand:expand_command",
    )
    expand.epilog = "Replays all ranks together. attach, replay and others run it if it is needed."
    expand.add_argument("job", help=_JOB_HELP)
    expand.add_argument(
        "--mpi", metavar="NAME", help="use another MPI than the recording did: results may differ"
    )
    _placement(expand)

    pack = command(
        "pack", "put all that a debugger needs of a job into one file", "rdb.cli.pack:pack_command"
    )
    pack.add_argument("job", help=_JOB_HELP)
    pack.add_argument("-o", dest="out", metavar="FILE", help="name of the pack (default: JOB.rdb)")
    pack.add_argument("--ranks", type=_ranks, metavar="3,7-9", help="pack only these ranks")
    pack.add_argument(
        "--since",
        type=_checkpoint,
        metavar="ckpt:N",
        help="pack each rank only from its checkpoint N on",
    )

    checkpoint = command(
        "checkpoint", "take a checkpoint of a running job", "rdb.cli.checkpoint:checkpoint_command"
    )
    checkpoint.add_argument("job", help=_JOB_HELP)
    checkpoint.add_argument(
        "--every", type=_count, metavar="S", help="take one every S seconds, until the job ends"
    )
    checkpoint.add_argument("--hosts", metavar="FILE", help=_HOSTS_HELP)
    checkpoint.add_argument(
        "--timeout",
        type=_count,
        default=30,
        metavar="S",
        help="wait at most S seconds (default: 30)",
    )

    restart = command(
        "restart",
        "run a recorded program live again, from any event",
        "rdb.cli.restart:restart_command",
    )
    restart.add_argument("job", help=_JOB_HELP)
    restart.add_argument(
        "--at",
        metavar="WHERE",
        help="where it goes on: ckpt:N, EVENT, 2.5s (since the start) or end (default: end)",
    )
    restart.add_argument(
        "--rank",
        type=_natural,
        metavar="R",
        help="the rank that WHERE refers to (default: the first)",
    )
    restart.add_argument("--plan", action="store_true", help="only print the plan, do not run")
    restart.add_argument(
        "--record",
        choices=("full", "off"),
        help="for a job that ran with --record=off: full records it from here on (default: off)",
    )
    restart.add_argument("--name", help="the new job's name (default: JOB-branch-1, ...)")
    restart.add_argument(
        "-n", type=_count, metavar="N", help="number of ranks, which must be the job's"
    )
    _placement(restart)
    restart.add_argument(
        "--mpi",
        metavar="NAME",
        help="the MPI that it runs with from now on: openmpi, mpich (default: that of the mpirun "
        "in PATH)",
    )
    restart.add_argument(
        "--in-place",
        action="store_true",
        help="roll back and use the program's own files, not copies",
    )
    restart.add_argument(
        "--hca",
        choices=HCA_CHOICES,
        help="the HCA that its verbs use from now on (default: the recorded one)",
    )
    as_of_run = "as in `rdb run`, for the new recording"
    restart.add_argument("--hash-every", type=_natural, metavar="N", help=as_of_run)
    for option in ("--checkpoint-every", "--keep"):
        restart.add_argument(option, metavar="N", help=as_of_run)
    restart.add_argument("--check", choices=CHECK_CHOICES, help=as_of_run)

    replay = command(
        "replay", "replay each process, alone, at full speed", "rdb.cli.replay:replay_command", True
    )
    replay.add_argument("job", help=_JOB_HELP)
    replay.add_argument(
        "--rank", metavar="R", help="only this rank or process, as `rdb info` names it (0.1, 0:1)"
    )
    replay.add_argument(
        "--verify",
        action="store_true",
        help="compare memory with the recorded hashes (the default)",
    )
    replay.add_argument(
        "--checkpoint", metavar="K", help="start at checkpoint K (`rdb info`); all: at each of them"
    )
    replay.add_argument(
        "--times", type=_count, default=1, metavar="N", help="replay N times in a row"
    )
    replay.add_argument(
        "--patience",
        type=_count,
        default=60,
        metavar="S",
        help="give up if the replay computes for S seconds without reaching its next recorded "
        "call, and the recording took far less time for that (default: 60)",
    )

    attach = command(
        "attach", "debug a job, forwards and backwards", "rdb.cli.debug:attach_command"
    )
    attach.add_argument("job", help=_JOB_HELP)
    attach.add_argument(
        "--rank", metavar="R", help="only this rank or process, as `rdb info` names it (0.1, 0:1)"
    )
    attach.add_argument("--hosts", metavar="FILE", help=_HOSTS_HELP)
    attach.add_argument("-x", dest="script", metavar="FILE", help="run commands from a file")

    bisect = command(
        "bisect",
        "find when, where and in which rank an expression first turned false",
        "rdb.cli.debug:bisect_command",
        json=True,
    )
    bisect.add_argument("job", help=_JOB_HELP)
    bisect.add_argument("expression", metavar="EXPR")
    bisect.add_argument("--rank", metavar="R", help="only in this rank or process (0.1, 0:1)")
    which = bisect.add_mutually_exclusive_group()
    which.add_argument("--first", action="store_true", help="find the first change (the default)")
    which.add_argument("--last", action="store_true", help="find the last change")
    bisect.add_argument(
        "--from", dest="start", type=_position, metavar="POS", help="search from here"
    )
    bisect.add_argument("--to", type=_position, metavar="POS", help="search up to here")
    bisect.add_argument(
        "--depth",
        choices=("event", "statement", "instruction"),
        help="what to find: the instruction (default), only its statement, or only its event",
    )
    bisect.add_argument("--all-ranks", action="store_true", help="search all ranks (the default)")
    bisect.add_argument("--jobs", type=_count, metavar="N", help="use N processors (default: all)")

    find = command(
        "find-event",
        "list the events of all ranks for which a query is true",
        "rdb.cli.find:find_command",
        json=True,
    )
    find.add_argument("job", help=_JOB_HELP)
    find.add_argument("query", metavar="QUERY", help="'mpi.recv source==3', '!allfinite(u)'")
    find.add_argument("--rank", metavar="R", help="only in this rank or process (0.1, 0:1)")
    way = find.add_mutually_exclusive_group()
    for name, text in (
        ("all", "list the events (the default)"),
        ("count", "count the events of each rank"),
        ("next", "show the first event of each rank"),
        ("prev", "show the last event of each rank"),
    ):
        way.add_argument(f"--{name}", dest="way", action="store_const", const=name, help=text)
    find.set_defaults(way="all")
    find.add_argument("--limit", type=_count, default=1000, metavar="N", help="at most N of a rank")

    queues = command(
        "messages",
        "show the message queues of all ranks: receives posted, messages on their way",
        "rdb.cli.parallel:messages_command",
        json=True,
    )
    queues.add_argument("job", help=_JOB_HELP)
    queues.add_argument("--rank", metavar="R", help="only this rank")
    queues.add_argument(
        "--at",
        type=_natural,
        metavar="EVENT",
        help="the queues as they were at this event of the rank (default: of the first rank), not "
        "at the end",
    )
    queues.add_argument(
        "--limit",
        type=_natural,
        default=8,
        metavar="N",
        help="show the newest N received (default: 8)",
    )
    waits = command(
        "deadlock",
        "show which rank waits for which in MPI at the end of a recording",
        "rdb.cli.parallel:deadlock_command",
        json=True,
    )
    waits.add_argument("job", help=_JOB_HELP)

    picture = command(
        "timeline",
        "draw all ranks over time: a page for a browser, or a trace for Perfetto",
        "rdb.cli.timeline:timeline_command",
    )
    picture.add_argument("job", help=_JOB_HELP)
    picture.add_argument(
        "-o", dest="output", metavar="FILE", help="the output (default: JOB.html or JOB.json)"
    )
    picture.add_argument(
        "--format",
        choices=("html", "perfetto"),
        default="html",
        help="html (default): one page without other files; perfetto: Chrome's trace format",
    )
    picture.add_argument(
        "--bookmark",
        action="append",
        default=[],
        metavar="NAME=RANK:EVENT",
        help="mark an event; may be given again",
    )

    # Started by ssh or srun, not by people: not in the list of commands.
    commands.add_parser("agent").set_defaults(target="rdb.agents.serving:agent_command")
    # Parsed by rdb.server itself, which GDB also starts as `python -m rdb.server`.
    command("serve", "serve a rank to GDB (target extended-remote)", None)
    setup = command(
        "setup-mpi",
        "build rdb's library for another MPI, with that MPI's mpicc",
        "rdb.cli.setup_mpi:setup_mpi_command",
        True,
    )
    setup.add_argument(
        "--mpicc",
        metavar="PATH",
        default="mpicc",
        help="the MPI's compiler (default: mpicc in PATH)",
    )
    setup.add_argument(
        "--name", help="its name for --mpi (default: family and version, such as openmpi-5.0.11)"
    )
    command(
        "doctor",
        "check what works on this machine, and how to repair the rest",
        "rdb.cli.doctor:doctor_command",
        True,
    )
    parser.commands = names
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Parses the arguments and runs the command; returns where argparse would exit (help,
    version).
    """
    if not arguments:
        build_parser().print_help(sys.stderr)
        return 2
    try:
        if arguments[0] == "serve":
            serve = importlib.import_module("rdb.server.__main__")
            return int(serve.main(list(arguments[1:]), _Parser))
        parser = build_parser(arguments[0])
        if arguments[0] not in parser.commands:  # an option, or no command
            parser = build_parser()
        parsed = parser.parse_args(arguments)
    except SystemExit as leave:
        return int(leave.code or 0)
    module, _, name = parsed.target.partition(":")
    function: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), name)
    return function(parsed)


def _placement(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--hosts", metavar="FILE", help="run on these hosts: lines of NAME, NAME slots=4 or NAME:4"
    )
    command.add_argument(
        "--launcher",
        choices=LAUNCHERS,
        help="what starts the ranks: mpirun (default), srun, ssh (mpirun that always uses ssh)",
    )


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _ranks(text: str) -> list[int]:
    """`3,7-9`"""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers = range(_natural(first), _natural(last or first) + 1)
        if not numbers or len(numbers) > 1 << 20:
            raise ValueError(part)
        found += numbers
    return found


def _checkpoint(text: str) -> int:
    return _natural(text.removeprefix("ckpt:"))


def _position(text: str) -> str:
    """EVENT or EVENT:PC:N, as `when` prints it."""
    from rdb.timeline.position import Position

    return str(Position.parse(text))


_position.__name__ = "position"
_ranks.__name__ = "list of ranks"
_checkpoint.__name__ = "checkpoint"
_natural.__name__ = "number"  # argparse names the type in its message

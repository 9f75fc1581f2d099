"""The commands and their arguments; each is carried out by a function of a module of its own."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from rdb import __version__
from rdb.errors import Usage
from rdb.launch.command import CHECK_CHOICES, CPU_CHOICES
from rdb.launch.hca import HCA_CHOICES
from rdb.launch.placement import LAUNCHERS

_EPILOG = """exit codes: run, exec and restart pass the program's own on (128+n for signal n,
130 Ctrl-C; 127 not found, 126 cannot be executed, 125 rdb itself could not, 2 usage, 6 a tool is
missing).  Others: 0 ok, 1 a negative answer, 2 usage, 3 another version, 4 unknown job, rank or
position, 5 damaged or diverged recording, 6 a tool is missing, 130 Ctrl-C."""


_HOSTS_HELP = "where its ranks run, if the job does not say it itself"


_NO_COMMAND = re.compile(r"argument COMMAND: invalid choice: '(.*?)' \(choose")


class _Parser(argparse.ArgumentParser):
    """Usage errors as one line, like every other error."""

    commands: Sequence[str] = ()
    """What may be meant where there is no such command."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """argparse leaves what a command does not know to `rdb`, which then names no command."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            what = getattr(parsed, "command", None)
            where, hint = (f"{what}: ", f"`rdb {what} --help`") if what else ("", self._hint())
            raise Usage(f"{where}unknown arguments: {' '.join(unknown)}", hint)
        return parsed

    def error(self, message: str) -> NoReturn:
        strange = _NO_COMMAND.match(message)
        if strange is not None:
            import difflib  # late, as are others here: most commands are spelt as they should be

            # argparse would list all, and among them those that are not for people.
            near = difflib.get_close_matches(strange[1], self.commands, 1)
            meant = f"did you mean `rdb {near[0]}`? " if near else ""
            raise Usage(f"there is no command {strange[1]!r}", f"{meant}{self._hint()}")
        raise Usage(
            f"{self.prog.removeprefix('rdb').strip()}: {message}".lstrip(": "), self._hint()
        )

    def _hint(self) -> str:
        return f"`{self.prog} --help`"


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="rdb",
        description="A reversible debugger for MPI programs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rdb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str, target: str, json: bool = False) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(target=target)
        if json:
            sub.add_argument("--json", action="store_true", help="print JSON")
        return sub

    run = command("run", "record a job", "rdb.cli.run:run_command")
    run.add_argument("--name", help="the job's name (default: PROG-1, PROG-2, ...)")
    run.add_argument("-n", type=_count, metavar="N", help="start N MPI ranks with mpirun")
    run.add_argument(
        "--hash-every", type=_natural, metavar="N", help="a memory hash every N events"
    )
    run.add_argument(
        "--checkpoint-every",
        metavar="N",
        help="a checkpoint every 1000events, 64MB of log or 10s; 0: none "
        "(default: 64MB or 10s, as long as they cost 1%% of the time at most; with --record=off "
        "none; there also auto, with --mtbf)",
    )
    run.add_argument(
        "--mtbf",
        type=_count,
        metavar="S",
        help="mean time between failures, for --checkpoint-every auto of --record=off",
    )
    run.add_argument(
        "--keep", metavar="N", help="keep the newest 4checkpoints, 500MB or 60s of each process"
    )
    run.add_argument(
        "--log-budget",
        metavar="N",
        help="each process' log ends, with a mark, when it has 500MB or 2GB; the program goes on",
    )
    run.add_argument(
        "--kept-budget",
        metavar="N",
        help="what the job overwrites or deletes is kept for restarts as long as it is 500MB or "
        "2GB at most, on each host",
    )
    run.add_argument(
        "--slice",
        type=_natural,
        metavar="MS",
        help="a thread that computes gives way to one that waits after so many milliseconds "
        "(default: 20)",
    )
    run.add_argument(
        "--record",
        choices=("full", "order", "off"),
        default="full",
        help="order: log the order of messages, not what is in them: the ranks make that again "
        "together (rdb expand); off: run below rdb without a recording; threads run in parallel",
    )
    run.add_argument(
        "--check",
        choices=CHECK_CHOICES,
        help="what the program hands out is compared in every replay: of more than 64 KiB in one "
        "piece a sample (default) or full, all of it; off: nothing, to measure what it costs",
    )
    run.add_argument("--lax", action="store_true", help="pass unknown system calls on")
    run.add_argument(
        "--no-children", action="store_true", help="child processes run native, unrecorded"
    )
    run.add_argument(
        "--cpu",
        choices=CPU_CHOICES,
        metavar="LEVEL",
        help="highest x86-64 level shown to the program: x86-64-v2, x86-64-v3 (default), native",
    )
    run.add_argument(
        "--hca",
        choices=HCA_CHOICES,
        help="what is below the program's verbs: soft (a software HCA over TCP), real (the "
        "machine's devices), auto (real, if there are any; default, or $RDB_HCA)",
    )
    run.add_argument(
        "--mpi",
        metavar="NAME",
        help="the MPI below the program, and its mpirun: openmpi, mpich (default: $RDB_MPI, or "
        "that of the mpirun in PATH)",
    )
    run.add_argument(
        "--launcher-arg", action="append", default=[], metavar="ARG", help="one more for mpirun"
    )
    _placement(run)
    run.usage = "rdb run [OPTIONS] -- PROG ARGS"
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROG ARGS")

    commands.add_parser("exec", help="record this process as a rank of a job (for launchers)")

    listing = command("ls", "list the recorded jobs", "rdb.cli.jobs:ls_command", json=True)
    listing.epilog = "Reads the ends of the logs only; `rdb info` and `rdb replay` read all."
    info = command("info", "show a job's ranks and their ends", "rdb.cli.jobs:info_command", True)
    info.add_argument("job")
    info.add_argument(
        "--at", type=_natural, metavar="EVENT", help="queue pairs as they were then, not at the end"
    )
    info.add_argument("--hosts", metavar="FILE", help=_HOSTS_HELP)
    remove = command("rm", "remove recorded jobs", "rdb.cli.jobs:rm_command")
    remove.add_argument("job", nargs="+")

    expand = command(
        "expand",
        "make again what was in the messages of a job recorded with --record=order",
        "rdb.cli.expand:expand_command",
    )
    expand.epilog = "All its ranks are replayed together; attach, replay and others do it first."
    expand.add_argument("job")
    expand.add_argument(
        "--mpi", metavar="NAME", help="another MPI than that of the recording: results may differ"
    )
    _placement(expand)

    pack = command(
        "pack", "one file to carry away: all that a debugger needs", "rdb.cli.pack:pack_command"
    )
    pack.add_argument("job")
    pack.add_argument("-o", dest="out", metavar="FILE", help="the pack (default: JOB.rdb)")
    pack.add_argument("--ranks", type=_ranks, metavar="3,7-9", help="only these ranks")
    pack.add_argument(
        "--since", type=_checkpoint, metavar="ckpt:N", help="only from each rank's checkpoint N on"
    )

    checkpoint = command(
        "checkpoint", "take a checkpoint of a running job", "rdb.cli.checkpoint:checkpoint_command"
    )
    checkpoint.add_argument("job")
    checkpoint.add_argument(
        "--every", type=_count, metavar="S", help="again after so many seconds, until the job ends"
    )
    checkpoint.add_argument("--hosts", metavar="FILE", help=_HOSTS_HELP)
    checkpoint.add_argument(
        "--timeout", type=_count, default=30, metavar="S", help="wait so long for it (default: 30)"
    )

    restart = command(
        "restart",
        "let a recorded program run live again, from any event",
        "rdb.cli.restart:restart_command",
    )
    restart.add_argument("job")
    restart.add_argument(
        "--at", metavar="WHERE", help="ckpt:N, EVENT, 2.5s since its start, end (default: end)"
    )
    restart.add_argument(
        "--rank", type=_natural, metavar="R", help="whose event that is (default: the first)"
    )
    restart.add_argument("--plan", action="store_true", help="only show from where to where")
    restart.add_argument(
        "--record",
        choices=("full", "off"),
        help="of a job that ran without a recording: full records it from here on (default: off)",
    )
    restart.add_argument("--name", help="the new job's name (default: JOB-branch-1, ...)")
    restart.add_argument("-n", type=_count, metavar="N", help="as many ranks as the job has")
    _placement(restart)
    restart.add_argument(
        "--mpi",
        metavar="NAME",
        help="the MPI below it from now on: openmpi, mpich (default: that of the mpirun in PATH)",
    )
    restart.add_argument(
        "--in-place",
        action="store_true",
        help="roll back and write on the program's own files, not copies of the branch's own",
    )
    restart.add_argument(
        "--hca",
        choices=HCA_CHOICES,
        help="what is below the program's verbs now (default: as when it was recorded)",
    )
    as_of_run = "as of `rdb run`, for the new recording"
    restart.add_argument("--hash-every", type=_natural, metavar="N", help=as_of_run)
    for option in ("--checkpoint-every", "--keep"):
        restart.add_argument(option, metavar="N", help=as_of_run)
    restart.add_argument("--check", choices=CHECK_CHOICES, help=as_of_run)

    replay = command(
        "replay", "replay each process, alone, at full speed", "rdb.cli.replay:replay_command", True
    )
    replay.add_argument("job")
    replay.add_argument(
        "--rank", metavar="R", help="only this rank, or process as `rdb info` names it: 0.1, 0:1"
    )
    replay.add_argument(
        "--verify",
        action="store_true",
        help="compare memory with the recorded hashes (the default)",
    )
    replay.add_argument(
        "--checkpoint", metavar="K", help="start at checkpoint K (`rdb info`), or at each: all"
    )
    replay.add_argument("--times", type=_count, default=1, metavar="N", help="N times in a row")
    replay.add_argument(
        "--patience",
        type=_count,
        default=60,
        metavar="S",
        help="give up after S seconds of computing without a call that the recording has, "
        "if that took far less time there (default: 60)",
    )

    attach = command(
        "attach", "debug a job, forwards and backwards", "rdb.cli.debug:attach_command"
    )
    attach.add_argument("job")
    attach.add_argument(
        "--rank", metavar="R", help="only this rank or process, as `rdb info` names it (0.1, 0:1)"
    )
    attach.add_argument("--hosts", metavar="FILE", help=_HOSTS_HELP)
    attach.add_argument("-x", dest="script", metavar="FILE", help="run commands from a file")

    bisect = command(
        "bisect",
        "when, where and in which rank an expression first turned false",
        "rdb.cli.debug:bisect_command",
        json=True,
    )
    bisect.add_argument("job")
    bisect.add_argument("expression", metavar="EXPR")
    bisect.add_argument("--rank", metavar="R", help="only in this rank or process (0.1, 0:1)")
    which = bisect.add_mutually_exclusive_group()
    which.add_argument("--first", action="store_true", help="the first turn (the default)")
    which.add_argument("--last", action="store_true", help="the last turn, not the first")
    bisect.add_argument("--from", dest="start", type=_position, metavar="POS", help="search from")
    bisect.add_argument("--to", type=_position, metavar="POS", help="search up to there")
    bisect.add_argument("--depth", choices=("event", "statement", "instruction"))
    bisect.add_argument("--all-ranks", action="store_true", help="all of them (the default)")
    bisect.add_argument("--jobs", type=_count, metavar="N", help="use N processors (default: all)")

    find = command(
        "find-event",
        "events of all ranks that a query is true of",
        "rdb.cli.find:find_command",
        json=True,
    )
    find.add_argument("job")
    find.add_argument("query", metavar="QUERY", help="'mpi.recv source==3', '!allfinite(u)'")
    find.add_argument("--rank", metavar="R", help="only in this rank or process (0.1, 0:1)")
    way = find.add_mutually_exclusive_group()
    for name, text in (
        ("all", "list them (the default)"),
        ("count", "how many each rank has"),
        ("next", "the first of each rank"),
        ("prev", "the last of each rank"),
    ):
        way.add_argument(f"--{name}", dest="way", action="store_const", const=name, help=text)
    find.set_defaults(way="all")
    find.add_argument("--limit", type=_count, default=1000, metavar="N", help="at most N per rank")

    queues = command(
        "messages",
        "receives posted and messages on their way, of all ranks",
        "rdb.cli.parallel:messages_command",
        json=True,
    )
    queues.add_argument("job")
    queues.add_argument("--rank", metavar="R", help="those of this rank only")
    queues.add_argument(
        "--at",
        type=_natural,
        metavar="EVENT",
        help="when the rank (the first one) had that event, not at the end",
    )
    queues.add_argument(
        "--limit", type=_natural, default=8, metavar="N", help="the newest N received (8)"
    )
    waits = command(
        "deadlock",
        "which rank waits for which in MPI at the end of a recording",
        "rdb.cli.parallel:deadlock_command",
        json=True,
    )
    waits.add_argument("job")

    picture = command(
        "timeline",
        "a picture of all ranks: a page for a browser, or a trace for Perfetto",
        "rdb.cli.timeline:timeline_command",
    )
    picture.add_argument("job")
    picture.add_argument("-o", dest="output", metavar="FILE", help="default: JOB.html or JOB.json")
    picture.add_argument(
        "--format",
        choices=("html", "perfetto"),
        default="html",
        help="html (default): one page that needs nothing else; perfetto: Chrome's trace format",
    )
    picture.add_argument(
        "--bookmark",
        action="append",
        default=[],
        metavar="NAME=RANK:EVENT",
        help="mark an event; may be given again",
    )

    # Started by ssh or srun: not for people, so without a line in the list of commands.
    commands.add_parser("agent").set_defaults(target="rdb.agents.serving:agent_command")
    # Parsed by rdb.server itself, which GDB also starts as `python -m rdb.server`.
    commands.add_parser("serve", help="serve a rank to GDB (target extended-remote)")
    setup = command(
        "setup-mpi",
        "build what rdb needs below it for another MPI, with that MPI's mpicc",
        "rdb.cli.setup_mpi:setup_mpi_command",
        True,
    )
    setup.add_argument(
        "--mpicc", metavar="PATH", default="mpicc", help="its compiler (default: mpicc in PATH)"
    )
    setup.add_argument(
        "--name", help="what --mpi calls it (default: its family and version, openmpi-5.0.11)"
    )
    command("doctor", "what works here, and how to mend it", "rdb.cli.doctor:doctor_command", True)
    parser.commands = [name for name in commands.choices if name != "agent"]
    return parser


def dispatch(arguments: Sequence[str]) -> int:
    """Parses and runs; argparse's own exits (help, version) become return values."""
    parser = build_parser()
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    try:
        if arguments[0] == "serve":
            serve = importlib.import_module("rdb.server.__main__")
            return int(serve.main(list(arguments[1:]), _Parser))
        parsed = parser.parse_args(arguments)
    except SystemExit as leave:
        return int(leave.code or 0)
    module, _, name = parsed.target.partition(":")
    function: Callable[[argparse.Namespace], int] = getattr(importlib.import_module(module), name)
    return function(parsed)


def _placement(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--hosts", metavar="FILE", help="on these hosts: lines of NAME, NAME slots=4 or NAME:4"
    )
    command.add_argument(
        "--launcher",
        choices=LAUNCHERS,
        help="what starts the ranks: mpirun (default), srun, ssh (mpirun, by ssh in any case)",
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

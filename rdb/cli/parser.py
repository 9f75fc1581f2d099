"""The commands and their arguments.  Each command is a function of a module in its own file."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from rdb import __version__
from rdb.errors import Usage
from rdb.launch.command import CHECK_CHOICES, CPU_CHOICES, LAUNCHERS, RECORD_CHOICES
from rdb.launch.hca import HCA_CHOICES

_EPILOG = """exit codes: run, exec and restart pass the program's own on (128+n for signal n,
130 Ctrl-C; 127 not found, 126 cannot be executed, 125 rdb itself failed, 2 usage, 6 a tool is
missing).  Others: 0 ok, 1 a negative answer, 2 usage, 3 another version, 4 unknown job, rank or
position, 5 damaged or diverged recording, 6 a tool is missing, 130 Ctrl-C."""


_JOB_HELP = "name of the job, or path of its directory or of a pack"
_NAME_HELP = "the job's name (default: PROG-1, PROG-2, ...)"
_ON_HELP = "work at the hosts that have the recordings: ssh, slurm or dask:HOST:PORT"
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

    def job(self) -> None:
        self.add_argument("job", help=_JOB_HELP)

    def flag(self, name: str, text: str) -> None:
        self.add_argument(name, action="store_true", help=text)

    def value(
        self, name: str, metavar: str, text: str, kind: Callable[[str], Any] = str, **more: Any
    ) -> None:
        self.add_argument(name, metavar=metavar, help=text, type=kind, **more)

    def choice(self, name: str, choices: Sequence[str], text: str, **more: Any) -> None:
        self.add_argument(name, choices=choices, help=text, **more)

    def _hint(self) -> str:
        return f"`{self.prog} --help`"


class _Command(NamedTuple):
    name: str
    target: str | None
    json: bool
    add_arguments: Callable[[_Parser], None]


_COMMANDS: list[_Command] = []


def _command(
    name: str, target: str | None, json: bool = False
) -> Callable[[Callable[[_Parser], None]], None]:
    """Declares a command; the docstring is its help.

    TARGET: the function that carries it out, as MODULE:NAME; None: it parses its own arguments.
    """
    return lambda add_arguments: _COMMANDS.append(_Command(name, target, json, add_arguments))


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


def _checkpoint_number(text: str) -> int:
    return _natural(text.removeprefix("ckpt:"))


def _position(text: str) -> str:
    """EVENT or EVENT:PC:N, as `when` prints it."""
    from rdb.timeline.position import Position

    return str(Position.parse(text))


_position.__name__ = "position"
_ranks.__name__ = "list of ranks"
_checkpoint_number.__name__ = "checkpoint"
_natural.__name__ = "number"  # argparse names the type in its message


def _placement(command: _Parser) -> None:
    command.value("--hosts", "FILE", "run on these hosts: lines of NAME, NAME slots=4 or NAME:4")
    command.choice(
        "--launcher",
        LAUNCHERS,
        "what starts the ranks: mpirun (default), srun, ssh (mpirun that always uses ssh)",
    )


def _recording(sub: _Parser) -> None:
    """The options of `rdb run` and `rdb exec`."""
    sub.value("--hash-every", "N", "store a hash of memory every N events (0: never)", _natural)
    sub.value(
        "--checkpoint-every",
        "N",
        "take a checkpoint every N, such as 1000events, 64MB (of log) or 10s; 0: none "
        "(default: 64MB or 10s, as long as checkpoints cost at most 1%% of the time; with "
        "--record=off none)",
    )
    sub.value(
        "--keep", "N", "keep only the newest N of each process, such as 4checkpoints, 500MB or 60s"
    )
    sub.value(
        "--log-budget",
        "N",
        "stop recording a process when its log reaches N, such as 500MB or 2GB; the program "
        "goes on",
    )
    sub.value(
        "--kept-budget",
        "N",
        "keep at most N, such as 500MB or 2GB, on each host, of what the job overwrites or "
        "deletes in files (restarts need it)",
    )
    sub.value(
        "--slice",
        "MS",
        "a computing thread gives way to a waiting one after MS milliseconds (default: 20)",
        _natural,
    )
    sub.flag(
        "--chaos",
        "make rare orders frequent: threads and ranks are late at random, and MPI_ANY_SOURCE "
        "takes any message that has come",
    )
    sub.choice(
        "--record",
        RECORD_CHOICES,
        "full (default): log all that the program receives; order: log the order of messages, "
        "not their contents, which rdb expand regenerates; lean: log a hash of each large message, "
        "whose bytes a debugger regenerates from its sender's recording; off: no recording, only "
        "checkpoints; threads run in parallel",
        default="full",
    )
    sub.choice(
        "--check",
        CHECK_CHOICES,
        "how much of the program's output each replay compares: sample (default: of pieces "
        "above 64 KiB a sample), full (all of it), off (nothing, to measure the cost)",
    )
    sub.flag(
        "--lax", "let the kernel answer system calls that rdb does not know, instead of stopping"
    )
    sub.flag("--no-children", "do not record child processes")
    sub.add_argument(
        "--cpu",
        choices=CPU_CHOICES,
        metavar="LEVEL",
        help="highest x86-64 level shown to the program: x86-64-v2, x86-64-v3 (default), native",
    )
    sub.choice(
        "--hca",
        HCA_CHOICES,
        "the HCA that the program's verbs use: soft (a software HCA over TCP), real (the "
        "machine's devices), auto (real, if there are any; default, or $RDB_HCA)",
    )
    sub.value(
        "--mpi",
        "NAME",
        "the MPI that the program runs with, and its mpirun: openmpi, mpich (default: "
        "$RDB_MPI, or that of the mpirun in PATH)",
    )


@_command("run", "rdb.cli.run:run_command")
def _(sub: _Parser) -> None:
    """record a job"""
    sub.add_argument("--name", help=_NAME_HELP)
    sub.value("-n", "N", "start N MPI ranks with mpirun", _count)
    _recording(sub)
    sub.value(
        "--mtbf",
        "S",
        "mean time between failures in seconds, for --checkpoint-every auto (with --record=off)",
        _count,
    )
    sub.add_argument(
        "--launcher-arg",
        action="append",
        default=[],
        metavar="ARG",
        help="pass one more argument to mpirun",
    )
    _placement(sub)
    sub.usage = "rdb run [OPTIONS] -- PROG ARGS [: -n N -- PROG ARGS]..."
    sub.add_argument("program", nargs=argparse.REMAINDER, metavar="-- PROG ARGS")


@_command("exec", None)
def _(sub: _Parser) -> None:
    """record this process as a rank of a job (for launchers)"""
    sub.description = (
        "Records this one process as a rank of a job; the launcher's environment says which rank "
        "and which job (mpirun -n 4 rdb exec -- ./prog, srun rdb exec -- ./prog)."
    )
    sub.usage = "rdb exec [OPTIONS] -- PROG ARGS"
    sub.add_argument("--name", help=_NAME_HELP)
    sub.value("--job", "DIR", "the job's directory, made before (default: $RDB_JOB_DIR)")
    _recording(sub)


@_command("ls", "rdb.cli.jobs:ls_command", json=True)
def _(sub: _Parser) -> None:
    """list the recorded jobs"""
    sub.epilog = "Reads the ends of the logs only; `rdb info` and `rdb replay` read all."


@_command("info", "rdb.cli.info:info_command", json=True)
def _(sub: _Parser) -> None:
    """show a job's ranks and how they ended"""
    sub.job()
    sub.value("--at", "EVENT", "show queue pairs as they were at EVENT, not at the end", _natural)
    sub.value("--hosts", "FILE", _HOSTS_HELP)


@_command("rm", "rdb.cli.jobs:rm_command")
def _(sub: _Parser) -> None:
    """remove recorded jobs"""
    sub.add_argument("job", nargs="+", help=_JOB_HELP)


@_command("expand", "rdb.cli.expand:expand_command")
def _(sub: _Parser) -> None:
    """regenerate the message contents of a job recorded with --record=order or --record=lean"""
    sub.epilog = "Replays all ranks together. attach, replay and others run it if it is needed."
    sub.job()
    sub.value("--mpi", "NAME", "use another MPI than the recording did: results may differ")
    _placement(sub)


@_command("pack", "rdb.cli.pack:pack_command")
def _(sub: _Parser) -> None:
    """put all that a debugger needs of a job into one file"""
    sub.job()
    sub.value("-o", "FILE", "name of the pack (default: JOB.rdb)", dest="out")
    sub.value("--ranks", "3,7-9", "pack only these ranks", _ranks)
    sub.value(
        "--since", "ckpt:N", "pack each rank only from its checkpoint N on", _checkpoint_number
    )


@_command("checkpoint", "rdb.cli.checkpoint:checkpoint_command")
def _(sub: _Parser) -> None:
    """take a checkpoint of a running job"""
    sub.job()
    sub.value("--every", "S", "take one every S seconds, until the job ends", _count)
    sub.value("--hosts", "FILE", _HOSTS_HELP)
    sub.value("--timeout", "S", "wait at most S seconds (default: 30)", _count, default=30)


@_command("restart", "rdb.cli.restart:restart_command")
def _(sub: _Parser) -> None:
    """run a recorded program live again, from any event"""
    sub.job()
    sub.value(
        "--at",
        "WHERE",
        "where it goes on: ckpt:N, EVENT, 2.5s (since the start) or end (default: end)",
    )
    sub.value("--rank", "R", "the rank that WHERE refers to (default: the first)", _natural)
    sub.flag("--plan", "only print the plan, do not run")
    sub.choice(
        "--record",
        ("full", "off"),
        "for a job that ran with --record=off: full records it from here on (default: off)",
    )
    sub.add_argument("--name", help="the new job's name (default: JOB-branch-1, ...)")
    sub.value(
        "-n",
        "N",
        "number of ranks; another one than the job's starts the program anew",
        _count,
    )
    _placement(sub)
    sub.value(
        "--mpi",
        "NAME",
        "the MPI that it runs with from now on: openmpi, mpich (default: $RDB_MPI, or the one it "
        "ran with, or that of the mpirun in PATH)",
    )
    sub.flag("--in-place", "roll back and use the program's own files, not copies")
    sub.choice(
        "--hca", HCA_CHOICES, "the HCA that its verbs use from now on (default: the recorded one)"
    )
    as_of_run = "as in `rdb run`, for the new recording"
    sub.value("--hash-every", "N", as_of_run, _natural)
    for option in ("--checkpoint-every", "--keep"):
        sub.add_argument(option, metavar="N", help=as_of_run)
    sub.choice("--check", CHECK_CHOICES, as_of_run)


@_command("replay", "rdb.cli.replay:replay_command", json=True)
def _(sub: _Parser) -> None:
    """replay each process, alone, at full speed"""
    sub.job()
    sub.value("--rank", "R", "only this rank or process, as `rdb info` names it (0.1, 0:1)")
    sub.flag("--verify", "compare memory with the recorded hashes (the default)")
    sub.value("--checkpoint", "K", "start at checkpoint K (`rdb info`); all: at each of them")
    sub.value("--times", "N", "replay N times in a row", _count, default=1)
    sub.value(
        "--patience",
        "S",
        "give up if the replay computes for S seconds without reaching its next recorded "
        "call, and the recording took far less time for that (default: 60)",
        _count,
        default=60,
    )
    sub.value("--on", "WHERE", _ON_HELP)


@_command("attach", "rdb.cli.debug:attach_command")
def _(sub: _Parser) -> None:
    """debug a job, forwards and backwards"""
    sub.job()
    sub.value("--rank", "R", "only this rank or process, as `rdb info` names it (0.1, 0:1)")
    sub.value("--hosts", "FILE", _HOSTS_HELP)
    sub.value("-x", "FILE", "run commands from a file", dest="script")


@_command("bisect", "rdb.cli.debug:bisect_command", json=True)
def _(sub: _Parser) -> None:
    """find when, where and in which rank an expression first turned false"""
    sub.job()
    sub.add_argument("expression", metavar="EXPR")
    sub.value("--rank", "R", "only in this rank or process (0.1, 0:1)")
    which = sub.add_mutually_exclusive_group()
    which.add_argument("--first", action="store_true", help="find the first change (the default)")
    which.add_argument("--last", action="store_true", help="find the last change")
    sub.value("--from", "POS", "search from here", _position, dest="start")
    sub.value("--to", "POS", "search up to here", _position)
    sub.choice(
        "--depth",
        ("event", "statement", "instruction"),
        "what to find: the instruction (default), only its statement, or only its event",
    )
    sub.flag("--all-ranks", "search all ranks (the default)")
    sub.value("--jobs", "N", "use N processors (default: all)", _count)


@_command("find-event", "rdb.cli.find:find_command", json=True)
def _(sub: _Parser) -> None:
    """list the events of all ranks for which a query is true"""
    sub.job()
    sub.add_argument("query", metavar="QUERY", help="'mpi.recv source==3', '!allfinite(u)'")
    sub.value("--rank", "R", "only in this rank or process (0.1, 0:1)")
    way = sub.add_mutually_exclusive_group()
    for name, text in (
        ("all", "list the events (the default)"),
        ("count", "count the events of each rank"),
        ("next", "show the first event of each rank"),
        ("prev", "show the last event of each rank"),
    ):
        way.add_argument(f"--{name}", dest="way", action="store_const", const=name, help=text)
    sub.set_defaults(way="all")
    sub.value("--limit", "N", "at most N of a rank", _count, default=1000)
    sub.value("--on", "WHERE", _ON_HELP)


@_command("messages", "rdb.cli.parallel:messages_command", json=True)
def _(sub: _Parser) -> None:
    """show the message queues of all ranks: receives posted, messages on their way"""
    sub.job()
    sub.value("--rank", "R", "only this rank")
    sub.value(
        "--at",
        "EVENT",
        "the queues as they were at this event of the rank (default: of the first rank), not "
        "at the end",
        _natural,
    )
    sub.value("--limit", "N", "show the newest N received (default: 8)", _natural, default=8)
    sub.value("--on", "WHERE", _ON_HELP)


@_command("deadlock", "rdb.cli.parallel:deadlock_command", json=True)
def _(sub: _Parser) -> None:
    """show which rank waits for which in MPI at the end of a recording"""
    sub.job()


@_command("timeline", "rdb.cli.timeline:timeline_command")
def _(sub: _Parser) -> None:
    """draw all ranks over time: a page for a browser, or a trace for Perfetto"""
    sub.job()
    sub.value("-o", "FILE", "the output (default: JOB.html or JOB.json)", dest="output")
    sub.choice(
        "--format",
        ("html", "perfetto"),
        "html (default): one page without other files; perfetto: Chrome's trace format",
        default="html",
    )
    sub.add_argument(
        "--bookmark",
        action="append",
        default=[],
        metavar="NAME=RANK:EVENT",
        help="mark an event; may be given again",
    )
    sub.value("--on", "WHERE", _ON_HELP)


# Parsed by rdb.server itself, which GDB also starts as `python -m rdb.server`.
@_command("serve", None)
def _(sub: _Parser) -> None:
    """serve a rank to GDB (target extended-remote)"""


@_command("setup-mpi", "rdb.cli.setup_mpi:setup_mpi_command", json=True)
def _(sub: _Parser) -> None:
    """build rdb's library for another MPI, with that MPI's mpicc"""
    sub.value("--mpicc", "PATH", "the MPI's compiler (default: mpicc in PATH)", default="mpicc")
    sub.add_argument(
        "--name", help="its name for --mpi (default: family and version, such as openmpi-5.0.11)"
    )


@_command("doctor", "rdb.cli.doctor:doctor_command", json=True)
def _(sub: _Parser) -> None:
    """check what works on this machine, and how to repair the rest"""


def build_parser(only: str | None = None) -> _Parser:
    """ONLY: the command whose arguments are wanted; None: all, which costs 15 ms."""
    parser = _Parser(
        prog="rdb",
        description="A reversible debugger for MPI programs.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"rdb {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for one in _COMMANDS:
        if only not in (None, one.name):
            continue
        text = one.add_arguments.__doc__
        sub = commands.add_parser(one.name, help=text, description=text)
        sub.set_defaults(target=one.target)
        if one.json:
            sub.flag("--json", "print JSON")
        one.add_arguments(sub)
    # Started by ssh or srun, not by people: not in the list of commands.
    commands.add_parser("agent").set_defaults(target="rdb.agents.serving:agent_command")
    parser.commands = [one.name for one in _COMMANDS]
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

"""The command line.  `rdb exec` runs in every rank, so a module is imported only when needed."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence

from rdb.errors import MissingTool, NotYours, RdbError, Unsupported, Usage
from rdb.launch.inherited import put_aside


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; without RDB_DEBUG, an error becomes one line.

    Without ARGV it is the last thing that this process does.
    """
    if argv is not None:
        return _carried_out(list(argv))
    try:
        return _carried_out(sys.argv[1:])
    finally:
        # All is said: Ctrl-C ends what Python still has to do, without a traceback of its own.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.freeze()  # the process ends: nothing is looked through for what could be freed


def _carried_out(arguments: list[str]) -> int:
    put_aside()
    try:
        if "RDB_TRACE" in os.environ:
            from rdb.trace import check_topics

            check_topics()
        if arguments[:1] == ["exec"]:
            from rdb.cli.exec import exec_command

            return exec_command(arguments[1:])
        if arguments[:1] == ["run"]:
            from rdb.cli.run import plain_arguments, run_command

            plain = plain_arguments(arguments[1:])
            if plain is not None:
                return run_command(plain)
        from rdb.cli.parser import dispatch

        code = dispatch(arguments)
        print(end="", flush=True)  # there may be no stdout
        return code
    except RdbError as error:
        if os.environ.get("RDB_DEBUG"):
            raise
        print(error.line(), file=sys.stderr)
        return _exit_code(error.exit_code, arguments)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone. Print no message, and let none appear at interpreter
        # exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except Exception as error:
        if os.environ.get("RDB_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename:
            said = f"rdb: {error.filename}: {error.strerror}"
            if isinstance(error, PermissionError):
                print(f"{said}; RDB_HOME says where recordings are", file=sys.stderr)
                return _exit_code(NotYours.exit_code, arguments)
            print(f"{said}; RDB_DEBUG=1 shows where", file=sys.stderr)
            return Unsupported.exit_code
        what = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(f"rdb: internal error: {what}; RDB_DEBUG=1 shows where", file=sys.stderr)
        return _exit_code(70, arguments)


def _exit_code(code: int, arguments: Sequence[str]) -> int:
    """The exit code of rdb's own failure.  `run` and `exec` use 125, as most others are the
    program's.
    """
    own = (Usage.exit_code, MissingTool.exit_code)
    if arguments[:1] in (["run"], ["exec"]) and code < Unsupported.exit_code and code not in own:
        return Unsupported.exit_code
    return code

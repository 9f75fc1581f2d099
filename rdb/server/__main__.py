"""Serves a rank to GDB, one client after another.

`python -m rdb.server JOB --rank R --stdio|--socket PATH|--port N`
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from rdb.errors import RdbError, Usage
from rdb.recording import RankRecording, open_job
from rdb.recording.order import expanded, order_only
from rdb.server import peers
from rdb.server.forking import Forking
from rdb.server.packets import SIGNALS_S
from rdb.server.server import serve
from rdb.server.turning import Turning
from rdb.timeline.timeline import Timeline


def parser(
    kind: type[argparse.ArgumentParser] = argparse.ArgumentParser,
) -> argparse.ArgumentParser:
    parse = kind(
        prog="rdb serve", description="Serve a recorded rank to GDB (target extended-remote)."
    )
    parse.add_argument(
        "job", metavar="JOB", help="name of the job, or path of its directory or of a pack"
    )
    parse.add_argument(
        "--rank",
        default="0",
        metavar="R",
        help="the rank or process, as `rdb info` names it (0.1, 0:1; default: 0)",
    )
    how = parse.add_mutually_exclusive_group()
    how.add_argument("--stdio", action="store_true", help="use standard input and output")
    how.add_argument("--socket", type=Path, metavar="PATH", help="listen on a Unix socket")
    how.add_argument("--port", type=int, metavar="N", help="listen on 127.0.0.1 (0: any port)")
    parse.add_argument("--once", action="store_true", help="end when the first client disconnects")
    return parse


def main(
    arguments: Sequence[str] | None = None,
    kind: type[argparse.ArgumentParser] = argparse.ArgumentParser,
) -> int:
    options = parser(kind).parse_args(arguments)
    try:
        listens = options.socket is not None or options.port is not None
        if not listens and not options.stdio and sys.stdin.isatty():
            raise Usage(
                "serve: standard input is a terminal, but GDB should be connected to it",
                f"in GDB: target extended-remote | rdb serve {options.job} --rank {options.rank}; "
                "or use --socket, --port",
            )
        recording = open_job(options.job).rank(options.rank)
        recording.check()
        if order_only(recording) and not expanded(recording):
            raise RdbError(
                f"{options.job} holds only the order of messages", f"rdb expand {options.job}"
            )
        if options.socket is not None:
            _serve_socket(
                recording,
                _listen_unix(options.socket),
                options.socket,
                options.once,
                Forking(options.job, recording),
            )
        elif options.port is not None:
            _serve_socket(recording, _listen_loopback(options.port), None, options.once)
        else:
            _serve_stdio(recording, options.job)
    except RdbError as error:
        print(error.line(), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


def _serve_stdio(recording: RankRecording, job: str) -> None:
    # Ctrl-C in GDB's terminal reaches the whole process group; GDB also sends us the byte 0x03.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Replicas and prints must not write into the packets.
    read_fd, write_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    with Timeline(recording) as timeline:
        turning = Turning(job, timeline, recording)
        _leave_error_pipe()
        try:
            serve(timeline, recording, read_fd, write_fd, turning)
        finally:
            turning.close()


def _leave_error_pipe() -> None:
    """Redirects stdout and stderr from the pipe that GDB gave us to GDB's own stderr.

    GDB polls that pipe at every byte of every packet, a million system calls to open a rank, until
    the pipe has no writer (gdb/ser-base.c, generic_readchar).  Call it before the first answer:
    later GDB might wait for the pipe while there is nothing to read.
    """
    parent = os.getppid()
    try:
        if not Path(f"/proc/{parent}/comm").read_text().startswith("gdb"):
            return
        own = os.open(f"/proc/{parent}/fd/2", os.O_WRONLY | os.O_APPEND | os.O_NOCTTY)
    except OSError:
        return  # for example a socket: stay with the pipe, which is only slower
    os.dup2(own, 2)
    os.dup2(own, 1)
    os.close(own)


def _listen_unix(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    old = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise Usage(
            f"cannot listen on {path}: {error.strerror}", "remove it if no server uses it any more"
        ) from error
    finally:
        os.umask(old)
    return listener


def _listen_loopback(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "ports are 0 to 65535"
        raise Usage(f"cannot listen on port {port}: {why}", "--port 0 takes a free one") from error
    return listener


def _serve_socket(
    recording: RankRecording,
    listener: socket.socket,
    path: Path | None,
    once: bool,
    forking: Forking | None = None,
) -> None:
    """Serves one client at a time; each finds the rank where the last one left it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Timeline(recording) as timeline:
            listener.listen(1)
            listener.settimeout(SIGNALS_S)
            where = path if path is not None else f"127.0.0.1:{listener.getsockname()[1]}"
            print(f"rdb: rank {recording.name} waits for GDB at {where}", flush=True)
            over = False
            while not over:
                try:
                    peer, _ = listener.accept()
                except TimeoutError:
                    continue
                with peer:
                    if peer.family == socket.AF_INET:
                        if not peers.allowed(peer):
                            print("rdb: refused a connection from another user", file=sys.stderr)
                            continue
                        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    left = serve(timeline, recording, peer.fileno(), forking=forking)
                    over = left.for_good or once
    finally:
        listener.close()
        if path is not None:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())

"""One host: namespaces of its own, held by a process that does nothing but collect the dead."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
WAIT_S = 90.0
HOME = pwd.getpwuid(os.getuid()).pw_dir  # where ssh looks, whatever $HOME is

# The first process of the namespaces: private file systems, then it waits for what others leave.
_INIT = r"""
import ctypes, os, pwd, signal, socket, subprocess, sys
name, hosts, *shared = sys.argv[1:]
def mount(*words):
    subprocess.run(["mount", *words], check=True)
socket.sethostname(name)
mount("--make-rprivate", "/")
mount("-t", "tmpfs", "tmpfs", "/run")
kept = []
for number, path in enumerate(shared):
    kept.append(f"/run/kept/{number}")
    os.makedirs(kept[-1])
    mount("--bind", path, kept[-1])
os.makedirs("/run/sshd")
mount("--bind", hosts, "/etc/hosts")
for path, mode in (("/dev/shm", 1777), ("/tmp", 1777), (pwd.getpwuid(os.getuid()).pw_dir, 700)):
    os.makedirs(path, exist_ok=True)  # one may be below another
    mount("-t", "tmpfs", "-o", f"mode={mode}", "tmpfs", path)
for path, there in zip(shared, kept):
    os.makedirs(path, exist_ok=True)
    mount("--bind", there, path)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
print("ready", flush=True)
while True:
    signal.sigwait({signal.SIGCHLD})
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


class NoCluster(Exception):
    """Why there can be none here."""


def need(*tools: str) -> None:
    if os.geteuid() != 0:
        raise NoCluster("network namespaces need root")
    missing = [tool for tool in tools if shutil.which(tool, path=search_path()) is None]
    if missing:
        raise NoCluster(f"not installed: {', '.join(missing)}; make test-cluster installs them")


def search_path() -> str:
    return os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


class Host:
    """Made in `started`; `lose` is a power failure."""

    def __init__(self, name: str, address: str, holder: subprocess.Popen[str]) -> None:
        self.name = name
        self.address = address
        self.env: dict[str, str] = {}
        """What all commands there find in their environment."""
        self._holder = holder
        children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
        self.pid = int(children[0])
        """Of its first process, as seen from outside."""

    @classmethod
    def started(cls, name: str, address: str, hosts: Path, shared: Sequence[Path]) -> Host:
        line = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork"]
        line += ["--kill-child", "--mount-proc", "/usr/bin/python3", "-c", _INIT, name, str(hosts)]
        said = hosts.with_name(f"{name}.err")
        with said.open("w") as errors:
            holder = subprocess.Popen(
                [*line, *map(str, shared)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert holder.stdout is not None
        if holder.stdout.readline() != "ready\n":
            holder.wait()
            why = (said.read_text().splitlines() or ["no reason given"])[0]
            raise NoCluster(f"namespaces cannot be made here: {why}")
        return cls(name, address, holder)

    @property
    def there(self) -> bool:
        return self._holder.poll() is None

    def line(self, *command: str | Path, cwd: str | Path = "/") -> list[str]:
        """COMMAND in this host, as a command of the machine."""
        enter = ["nsenter", "-t", str(self.pid), "--net", "--uts", "--ipc", "--mount", "--pid"]
        return [*enter, f"--wd={cwd}", *map(str, command)]

    def run(
        self,
        *command: str | Path,
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
        timeout_s: float = WAIT_S,
        stdin: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.line(*command, cwd=cwd),
            env=self.environment(env),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )

    def start(
        self,
        *command: str | Path,
        cwd: str | Path = "/",
        env: Mapping[str, str] | None = None,
        output: Path | None = None,
    ) -> subprocess.Popen[str]:
        """In the background, its output in a file."""
        with open(output or os.devnull, "a") as file:
            return subprocess.Popen(
                self.line(*command, cwd=cwd),
                env=self.environment(env),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def rdb(
        self, *arguments: str | Path, cwd: str | Path = "/", **options: object
    ) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, "-m", "rdb", *arguments, cwd=cwd, **options)  # type: ignore[arg-type]

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "TERM") if name in os.environ}
        return {
            **kept,
            "PATH": search_path(),
            "HOME": HOME,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            **self.env,
            **(more or {}),
        }

    def lose(self) -> None:
        """All its processes are gone at once, and with them its network."""
        if self.there:
            os.kill(self.pid, signal.SIGKILL)
        self._holder.wait()
        if self._holder.stdout is not None:
            self._holder.stdout.close()


def until(what: str, condition: object, timeout_s: float = WAIT_S) -> None:
    """Waits until CONDITION() is true."""
    deadline = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {timeout_s:.0f} s: {what}")
        time.sleep(0.02)

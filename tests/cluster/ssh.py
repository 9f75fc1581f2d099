"""Hosts that one reaches by ssh, with keys made for the purpose."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cluster.host import HOME, Host, need, search_path, until
from cluster.network import network

_CLIENT = """Host *
 StrictHostKeyChecking no
 UserKnownHostsFile /dev/null
 LogLevel ERROR
"""
_SERVER = """Port 22
HostKey {folder}/hostkey
PermitRootLogin prohibit-password
PubkeyAuthentication yes
PasswordAuthentication no
UsePAM no
PidFile none
StrictModes no
MaxStartups 200
Subsystem sftp internal-sftp
"""


@contextmanager
def ssh_hosts(count: int, folder: Path, shared: Sequence[Path] = ()) -> Iterator[list[Host]]:
    """The head first; each reaches each."""
    need("ssh", "sshd", "ssh-keygen")
    keys = folder / "keys"
    keys.mkdir(mode=0o700)
    for path in (keys / "id_ed25519", folder / "hostkey"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    (keys / "authorized_keys").write_bytes((keys / "id_ed25519.pub").read_bytes())
    (keys / "config").write_text(_CLIENT)
    (folder / "sshd_config").write_text(_SERVER.format(folder=folder))
    with network(count, folder, "node", shared) as hosts, ExitStack() as stack:
        for host in hosts:
            started = serve_ssh(host, folder)
            stack.callback(started.wait)
            stack.callback(host.lose)
        for host in hosts:
            until(f"sshd of {host.name}", lambda host=host: _answers(hosts[0], host))
        yield hosts


def serve_ssh(host: Host, folder: Path) -> subprocess.Popen[str]:
    """sshd on a host, and the keys of who logs in."""
    own = f"{HOME}/.ssh"
    script = f"mkdir -p {own} && cp {folder}/keys/* {own}/ && chmod 600 {own}/*"
    done = host.run("sh", "-c", script)
    assert done.returncode == 0, done.stderr
    log = folder / f"sshd.{host.name}.log"
    sshd = next(
        path
        for path in (f"{one}/sshd" for one in search_path().split(":"))
        if os.access(path, os.X_OK)
    )
    return host.start(sshd, "-D", "-e", "-f", folder / "sshd_config", output=log)


def _answers(head: Host, host: Host) -> bool:
    done = head.run("bash", "-c", f"exec 3<>/dev/tcp/{host.address}/22 && head -c 3 <&3")
    return done.stdout == "SSH"

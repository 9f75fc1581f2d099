"""Debian's stock kernel, unpacked into a cache (never installed), and a small initramfs for it."""

from __future__ import annotations

import hashlib
import lzma
import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

# In the initramfs, in this order, with what they need; all else is modprobed.
MODULES = [
    "virtio_pci",
    "virtio_console",
    "virtio_rng",
    "virtio_net",
    "9pnet_virtio",
    "9p",
    "overlay",
    "crc32_generic",
    "rdma_rxe",
    "ib_uverbs",
    "rdma_ucm",
]
TOOLS = ("qemu-system-x86_64", "busybox", "depmod", "rdma")
META_PACKAGE = "linux-image-amd64"  # the cloud kernel has neither rdma_rxe nor 9p
XZ_MAGIC = b"\xfd7zXZ\0"


class NoMachine(Exception):
    """Why there can be no guest here; the text is the reason."""


@dataclass(frozen=True)
class Kernel:
    """What qemu is given."""

    image: Path
    initramfs: Path
    modules: Path


def kernel() -> Kernel:
    """From the cache, or made now: the package is fetched once (70 MB)."""
    if platform.machine() != "x86_64":
        raise NoMachine("the guests are x86-64 machines")
    if missing := [t for t in TOOLS if not _tool(t)]:
        raise NoMachine(f"not installed: {' '.join(missing)}")
    cache = platformdirs.user_cache_path("rdb-vm", ensure_exists=True)
    tree = _unpacked(cache)
    [modules] = (tree / "lib/modules").iterdir()
    boot = _boot_files(tree, modules)
    return Kernel(boot / "vmlinux", boot / "initramfs", modules)


def _tool(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoMachine(f"{' '.join(map(str, command))}: {done.stderr.strip()[-500:]}")
    return done.stdout


def _unpacked(cache: Path) -> Path:
    """The newest kernel that the package lists name; one that is there will do."""
    if there := sorted(cache.glob("linux-image-*/lib/modules/*/modules.dep")):
        return there[-1].parents[3]
    depends = _run("apt-cache", "depends", META_PACKAGE)
    found = re.search(r"Depends: (linux-image-\S+)", depends)
    if not found:
        raise NoMachine(f"apt knows no {META_PACKAGE}: apt-get update?")
    name = found[1]
    with tempfile.TemporaryDirectory(dir=cache) as made:
        work = Path(made)
        _run("apt-get", "-q", "download", name, cwd=work)
        [package] = work.glob("*.deb")
        _run("dpkg-deb", "-x", package, work / name)
        _run(str(_tool("depmod")), "-b", work / name, name.removeprefix("linux-image-"))
        _move(work / name, cache / name)
    return cache / name


def _move(made: Path, to: Path) -> None:
    """Whole or not at all; somebody else's is as good."""
    try:
        made.rename(to)
    except OSError:
        if not to.is_dir():
            raise


def _boot_files(tree: Path, modules: Path) -> Path:
    init = Path(__file__).with_name("init.sh").read_bytes()
    key = hashlib.sha256(init + " ".join(MODULES).encode()).hexdigest()[:12]
    boot = tree / f"boot-{key}"
    if not boot.exists():
        with tempfile.TemporaryDirectory(dir=tree) as made:
            new = Path(made, "new")
            new.mkdir()
            # Unpacked here: much faster than in the guest.  qemu starts it by its PVH note.
            packed = (tree / "boot" / f"vmlinuz-{modules.name}").read_bytes()
            start = packed.find(XZ_MAGIC)
            (new / "vmlinux").write_bytes(lzma.LZMADecompressor().decompress(packed[start:]))
            _initramfs(Path(made, "root"), init, modules, new / "initramfs")
            _move(new, boot)
    return boot


def _initramfs(root: Path, init: bytes, modules: Path, out: Path) -> None:
    for folder in ["bin", "dev", "proc", "sys", "host", "overlay", "root", "mods"]:
        (root / folder).mkdir(parents=True)
    order = _load_order(modules)
    for path in order:
        shutil.copy(modules / path, root / "mods")
    (root / "mods/order").write_text("".join(f"{Path(p).name}\n" for p in order))
    shutil.copy(str(_tool("busybox")), root / "bin/busybox")
    (root / "init").write_bytes(init)
    (root / "init").chmod(0o755)
    names = "\n".join(str(p.relative_to(root)) for p in sorted(root.rglob("*")))
    with out.open("wb") as archive:
        command = ["busybox", "cpio", "-o", "-H", "newc"]
        subprocess.run(
            command,
            cwd=root,
            input=names.encode(),
            stdout=archive,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def _load_order(modules: Path) -> list[str]:
    """Each module after all that it needs (modules.dep lists those last first)."""
    needs: dict[str, list[str]] = {}
    by_name: dict[str, str] = {}
    for line in (modules / "modules.dep").read_text().splitlines():
        path, _, rest = line.partition(":")
        needs[path] = rest.split()
        by_name[Path(path).name.split(".")[0].replace("-", "_")] = path
    wanted = (p for m in MODULES for p in [*reversed(needs[by_name[m]]), by_name[m]])
    return list(dict.fromkeys(wanted))

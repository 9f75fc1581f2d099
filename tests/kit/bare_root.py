"""A root directory with rdb, Python and GDB, and nothing else of this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import deadlines

import rdb
from rdb.paths import gdb_scripts_dir, log_declarations_path, log_library_path, rdb_exec_path

_PACKAGES = (
    "cffi",
    "_cffi_backend",
    "prompt_toolkit",
    "wcwidth",
    "elftools",
    "pygdbmi",
    "rich",
    "pygments",
)
_MORE_PACKAGES = ("markdown_it", "mdurl", "pycparser")
_NOT_NEEDED = ("test", "tests", "__pycache__", "idlelib", "lib2to3", "tkinter", "ensurepip")
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


def why_not() -> str | None:
    """What keeps this user from having a root of its own, or None."""
    if os.geteuid() != 0:
        return "needs root"
    if shutil.which("gdb") is None:
        return "gdb is not installed"
    tried = subprocess.run(
        [*_NAMESPACES, "mount", "-t", "proc", "proc", "/proc"], capture_output=True, text=True
    )
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode else None


_NAMESPACES = ("unshare", "--mount", "--pid", "--net", "--fork")


class BareRoot:
    def __init__(self, root: Path) -> None:
        self.root = root
        python = Path(sys.executable).resolve()
        standard = Path(os.__file__).parent
        for folder in ("proc", "dev", "tmp"):
            (root / folder).mkdir(parents=True)
        for name, device in (("null", (1, 3)), ("urandom", (1, 9)), ("zero", (1, 5))):
            os.mknod(root / "dev" / name, 0o20666, os.makedev(*device))
        self._tree(standard, standard)
        # GDB has a Python of its own, which looks for its library where the system's is.
        for name in (*_PACKAGES, *_MORE_PACKAGES):
            spec = importlib.util.find_spec(name)
            assert spec is not None and spec.origin is not None, name
            origin = Path(spec.origin)
            if origin.name == "__init__.py":
                self._tree(origin.parent, Path("/rdb/lib", name))
            else:
                self._file(origin, Path("/rdb/lib", origin.name))
        package = Path(rdb.__file__).parent
        self._tree(package, Path("/rdb/lib/rdb"), "_lib")
        self._tree(gdb_scripts_dir(), Path("/rdb/lib/gdb_scripts"))
        own_code = rdb_exec_path().parent / "own-code.elf"
        for path in (rdb_exec_path(), log_library_path(), log_declarations_path(), own_code):
            self._file(path, Path("/rdb/lib/rdb/_lib", path.name))
        functions = rdb_exec_path().parent / "mpi" / "functions.json"
        self._file(functions, Path("/rdb/lib/rdb/_lib/mpi/functions.json"))
        self._binary(python, Path("/rdb/bin/python3"))
        gdb = shutil.which("gdb")
        assert gdb is not None
        self._binary(Path(gdb).resolve(), Path("/rdb/bin/gdb"))
        self._tree(Path("/usr/share/gdb"), Path("/usr/share/gdb"))
        command = root / "rdb/bin/rdb"
        command.write_text(
            "#!/rdb/bin/python3\nimport sys\nsys.path.insert(0, '/rdb/lib')\n"
            "from rdb.cli import main\nsys.exit(main())\n"
        )
        command.chmod(0o755)
        self._binary(Path("/bin/sh").resolve(), Path("/bin/sh"))  # GDB starts programs through it
        self._libraries(*root.rglob("*.so*"), root / "rdb/lib/rdb/_lib/rdb-exec")

    def run(self, *arguments: str, timeout_s: float = 90) -> subprocess.CompletedProcess[str]:
        """`rdb ARGUMENTS` in there: without a network, with processes of its own alone."""
        inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" /rdb/bin/rdb "$@"'
        return deadlines.run(
            [*_NAMESPACES, "sh", "-c", inside, str(self.root), *arguments],
            timeout_s,
            env={
                "PATH": f"/rdb/bin:{os.environ['PATH']}",
                "RDB_HOME": "/tmp/home",
                "LC_ALL": "C.UTF-8",
                "PYTHONHOME": sys.base_prefix,
            },
            stdin=subprocess.DEVNULL,
        )

    def _file(self, source: Path, target: Path) -> None:
        inside = self.root / target.relative_to("/")
        inside.parent.mkdir(parents=True, exist_ok=True)
        if not inside.exists():
            shutil.copy2(source, inside)

    def _tree(self, source: Path, target: Path, *without: str) -> None:
        shutil.copytree(
            source,
            self.root / target.relative_to("/"),
            ignore=shutil.ignore_patterns(*_NOT_NEEDED, *without),
            dirs_exist_ok=True,
        )

    def _binary(self, source: Path, target: Path) -> None:
        self._file(source, target)
        self._libraries(source)

    def _libraries(self, *binaries: Path) -> None:
        done = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False)
        for path in _LIBRARY.findall(done.stdout):
            self._file(Path(path), Path(path))

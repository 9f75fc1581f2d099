"""What an installed rdb has of the C core's sources: enough for `rdb setup-mpi`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)


def installed() -> set[tuple[str, ...]]:
    """Each file that meson installs, as parts of its path below the folder of rdb's libraries."""
    meson = Path(sys.executable).parent / "meson"
    done = subprocess.run(
        [meson, "introspect", "--install-plan", REPOSITORY / "build"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    files: set[tuple[str, ...]] = set()
    for kind in json.loads(done.stdout).values():
        for source, about in kind.items():
            place = Path(about["destination"]).parts
            if "_lib" not in place:
                continue
            below = place[place.index("_lib") + 1 :]
            if Path(source).is_dir():
                for one in Path(source).rglob("*"):
                    files.add((*below, *one.relative_to(source).parts))
            else:
                files.add(below)
    return files


def test_the_sources_for_another_MPI_are_whole() -> None:
    files = installed()
    # Where `rdb setup-mpi` looks for includes.
    folders = [("mpi", "src", "mpi"), ("mpi", "src"), ("mpi",)]
    sources = [one for one in files if one[:3] == folders[0] and one[-1].endswith((".c", ".h"))]
    assert len(sources) > 50
    missing = set()
    left, seen = [*sources], set(sources)
    while left:
        place = left.pop()
        path = REPOSITORY / "interposer" / Path(*place[2:])
        for name in _INCLUDED.findall(path.read_text()):
            found = [
                (*folder, *Path(name).parts)
                for folder in (place[:-1], *folders)
                if (*folder, *Path(name).parts) in files
            ]
            if not found:
                missing.add(name)
            elif found[0][1] == "src" and found[0] not in seen:
                seen.add(found[0])
                left.append(found[0])
    assert not missing

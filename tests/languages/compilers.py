"""The compilers of the matrix, and in which ways each can compile."""

from __future__ import annotations

import itertools
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

FACTORS: dict[str, tuple[str, ...]] = {
    "level": ("O0", "O1", "O2", "O3"),
    "form": ("plain", "split", "gz"),
    "pie": ("pie", "nopie"),
    "lto": ("nolto", "lto"),
    "dwarf": ("dwarf5", "dwarf4"),
}
Way = tuple[str, ...]
OF_GCC = {
    **{level: (f"-{level}",) for level in FACTORS["level"]},
    **{"plain": (), "split": ("-gsplit-dwarf",), "gz": ("-gz",)},
    **{"pie": ("-fPIE", "-pie"), "nopie": ("-fno-pie", "-no-pie")},
    **{"nolto": (), "lto": ("-flto",)},
    **{"dwarf5": ("-gdwarf-5",), "dwarf4": ("-gdwarf-4",)},
}


@dataclass(frozen=True)
class Compiler:
    """LACKS: ways that it does not have, or that are nothing to it."""

    command: tuple[str, ...]
    source: str
    options: dict[str, tuple[str, ...]] = field(default_factory=lambda: OF_GCC)
    lacks: tuple[str, ...] = ()
    lacks_both: tuple[str, ...] = ()
    ranks: int = 0
    incomplete: bool = False  # its debug information has not all variables and types
    replaces: tuple[str, str] | None = None  # what it does not have, by what it has

    def ways(self, every: bool) -> list[Way]:
        values = [[one for one in known if one not in self.lacks] for known in FACTORS.values()]
        both = self.lacks_both
        possible = [
            way for way in itertools.product(*values) if not both or not set(both).issubset(way)
        ]
        return possible if every else list(_pairs(possible))

    def build(self, source: Path, folder: Path, way: Way) -> Path:
        program = folder / source.stem
        tool = self.command[0]
        assert shutil.which(tool), f"{tool} is not installed: make test-languages installs it"
        options = [option for one in way for option in self.options.get(one, ())]
        if self.replaces:
            text = source.read_text()
            source = folder / source.name
            source.write_text(text.replace(*self.replaces))
        command = [*self.command, str(source), "-o", str(program)]
        command += ["-cargs", *options, "-largs", *options] if tool == "gnatmake" else options
        subprocess.run(command, cwd=folder, check=True)
        return program


def _pairs(ways: Sequence[Way]) -> Iterator[Way]:
    """Those in which each value of a factor meets each value of each other factor that it can."""
    open_ = {pair for way in ways for pair in itertools.combinations(way, 2)}
    while open_:
        best = max(ways, key=lambda way: len(open_.intersection(itertools.combinations(way, 2))))
        open_.difference_update(itertools.combinations(best, 2))
        yield best


# "-gsplit-dwarf is not supported with LTO": what comes out no debugger can read.
_NOT_IN_GCC = ("split", "lto")
_CLANG = {**OF_GCC, "lto": ("-flto", "-fuse-ld=lld")}
_RUST = {
    **{f"O{n}": ("-C", f"opt-level={n}") for n in range(4)},
    **{"plain": (), "split": ("-C", "split-debuginfo=unpacked")},
    **{"pie": ("-C", "relocation-model=pie"), "nopie": ("-C", "relocation-model=static")},
    **{"nolto": (), "lto": ("-C", "lto"), "dwarf5": ()},
}
COMPILERS = {
    "gcc": Compiler(("gcc", "-g"), "turns.c", lacks_both=_NOT_IN_GCC),
    "clang": Compiler(("clang", "-g"), "turns.c", _CLANG),
    "g++": Compiler(("g++", "-g"), "turns.cc", lacks_both=_NOT_IN_GCC),
    "clang++": Compiler(("clang++", "-g"), "turns.cc", _CLANG),
    "gfortran": Compiler(("gfortran", "-g"), "turns.f90", lacks_both=_NOT_IN_GCC),
    # GNU Fortran over Open MPI, with the module mpi_f08.
    "mpi_f08": Compiler(
        ("mpifort.openmpi", "-g"),
        "turns_f08.f90",
        lacks=("split", "gz", "nopie", "lto", "dwarf4"),
        ranks=2,
    ),
    "flang": Compiler(
        ("flang-new-19", "-g"),
        "turns.f90",
        {**{level: (f"-{level}",) for level in FACTORS["level"]}, "pie": (), "dwarf5": ()},
        lacks=("split", "gz", "lto", "dwarf4", "nopie"),
        incomplete=True,
        replaces=("logical(16)", "logical(8)"),
    ),
    "rustc": Compiler(("rustc", "-g"), "turns.rs", _RUST, lacks=("gz", "dwarf4")),
    "gdc": Compiler(("gdc", "-g"), "turns.d", lacks_both=_NOT_IN_GCC),
    "gccgo": Compiler(("gccgo", "-g"), "turns.go", lacks=("lto",)),
    "gnat": Compiler(("gnatmake", "-q", "-f", "-g"), "turns.adb", lacks_both=_NOT_IN_GCC),
    "assembler": Compiler(
        ("gcc", "-g"), "turns.S", lacks=("O1", "O2", "O3", "lto", "split", "dwarf4")
    ),
}

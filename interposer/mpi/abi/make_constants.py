"""Write the constants of an MPI's ABI: `make_constants.py MPICC [HEADER]`.

The tables are checked in (*.constants): building a stub then needs no MPI of that ABI.
"C name value", and for ABIs whose predefined handles are numbers "H class name value".
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gen.api import load
from gen.constants import LIMITS, NAMES

HERE = Path(__file__).resolve().parent


def program(header: str, number_handles: bool) -> str:
    lines = ["#include <stdio.h>", "#include <stdint.h>", f'#include "{header}"']
    lines.append("int main(void) {")
    lines += [
        f'printf("C {name} %lld\\n", (long long)(intptr_t)({name}));'
        for name in (*NAMES, *LIMITS, "MPI_IN_PLACE", "MPI_BOTTOM", "MPI_STATUS_IGNORE")
    ]
    if number_handles:
        for symbol in load(HERE / "openmpi-4.1.symbols").data:
            if symbol.handle and symbol.id:
                name = symbol.mpi_name
                lines += [
                    f"#ifdef {name}",
                    f'printf("H {symbol.handle} {name} %lld\\n", (long long)(intptr_t){name});',
                    "#endif",
                ]
    return "\n".join([*lines, "return 0; }"]) + "\n"


def main(mpicc: str, header: str = "mpi.h") -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "constants.c"
        source.write_text(program(header, "openmpi" not in mpicc))
        run = source.with_suffix("")
        subprocess.run([*mpicc.split(), "-w", "-o", run, source], check=True)
        print(f"# Made by make_constants.py from the {header} of an MPI.")
        print("# C constant value | H class handle value", flush=True)
        subprocess.run([run], check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

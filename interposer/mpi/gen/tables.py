"""The constants and predefined handles of the ABIs, as abi/*.constants has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from .api import Abi
from .constants import FLAGS, GROUPS


@dataclass
class Constants:
    values: dict[str, int] = field(default_factory=dict)
    handles: list[tuple[str, str, int]] = field(default_factory=list)  # class, MPI name, value

    def pairs(self, group: str, canonical: Constants) -> list[tuple[int, int]]:
        """(ours, canonical) of a group's constants, where they differ."""
        names = GROUPS.get(group) or FLAGS[group]
        both = [(self.values[name], canonical.values[name]) for name in names]
        return [(ours, theirs) for ours, theirs in both if ours != theirs]


def load_constants(table: Path) -> Constants:
    found = Constants()
    for line in table.read_text().splitlines():
        match line.split():
            case ["C", name, value]:
                found.values[name] = int(value)
            case ["H", kind, name, value]:
                found.handles.append((kind, name, int(value)))
    return found


def handle_ids(canonical: Abi) -> dict[str, tuple[str, int]]:
    """MPI name of a predefined handle -> class, id."""
    return {s.mpi_name: (s.handle, s.id) for s in canonical.data if s.handle and s.id}

"""Which tests run: none unless `-m mpi` asks for them."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "mpi" in config.option.markexpr:
        return
    left_out = [i for i in items if i.get_closest_marker("mpi")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]

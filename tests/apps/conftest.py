"""Which tests run: none unless `-m apps` asks for them."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "apps" in config.option.markexpr:
        return
    left_out = [i for i in items if i.get_closest_marker("apps")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]

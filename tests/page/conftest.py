"""These tests run with `-m page` only (`make test-page`): they need a browser."""

from __future__ import annotations

import os
import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "page" in config.option.markexpr:
        return
    left_out = [i for i in items if i.get_closest_marker("page")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a browser of the Chromium family."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        why = f"no browser here (one of {', '.join(_NAMES)})"
        # `make test-page` has installed one: there it is a failure.
        if os.environ.get("RDB_TEST_PAGE") == "must":
            pytest.fail(why)
        pytest.skip(why)
    return found

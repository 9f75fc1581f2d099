"""These tests run with `-m page` only (`make test-page`): they need a browser."""

from __future__ import annotations

import os
import shutil

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


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

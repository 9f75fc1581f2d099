"""Which entries run: in `make test` those of the sample, with `-m corpus` all of them."""

from __future__ import annotations

import pytest


def whole(config: pytest.Config) -> bool:
    """Whether the whole corpus was asked for."""
    return "corpus" in config.option.markexpr


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if whole(config):
        return
    left_out = [
        i for i in items if (m := i.get_closest_marker("corpus")) and not m.kwargs["sample"]
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]


@pytest.fixture
def must_be_there(request: pytest.FixtureRequest) -> bool:
    """`make test-corpus` installs what it needs: a missing program is then a failure."""
    return whole(request.config)

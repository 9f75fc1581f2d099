"""The guests that tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from vm.ethernet import guests
from vm.guest import Guest
from vm.kernel import NoMachine


def booted(count: int, kernel_options: str = "") -> Iterator[list[Guest]]:
    try:
        with guests(count, kernel_options) as machines:
            yield machines
    except NoMachine as why:
        # `make test-rdma` has installed what is needed: there it is a failure.
        if os.environ.get("RDB_TEST_RDMA") == "must":
            pytest.fail(str(why))
        pytest.skip(str(why))


@pytest.fixture(scope="session")
def alone() -> Iterator[Guest]:
    """One machine, for all tests that need no more."""
    for machines in booted(1):
        yield machines[0]


@pytest.fixture(scope="module")
def pair() -> Iterator[list[Guest]]:
    """Two machines on one Ethernet."""
    yield from booted(2)

"""Predicates over the containers of libc++, as over those of libstdc++."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from arrays import check, decided, stopped
from conftest import PROGRAMS
from expressions.test_predicates import (
    test_elements_that_lie_apart,
    test_the_element_that_decided_lies_apart,
)
from expressions.test_predicates_members import (
    test_arrays_within_each_element,
    test_members_of_each_element,
    test_what_is_no_member_says_so,
)
from gdbdriver import Gdb

pytestmark = pytest.mark.languages
__all__ = [
    "test_arrays_within_each_element",
    "test_elements_that_lie_apart",
    "test_members_of_each_element",
    "test_the_element_that_decided_lies_apart",
    "test_what_is_no_member_says_so",
]
CLANG = ("clang++", "-stdlib=libc++", "-std=c++20")


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("apart")
    with stopped(folder, PROGRAMS / "apart.cc", *CLANG) as gdb:
        yield gdb


@pytest.fixture(scope="module")
def cxx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gdb]:
    folder = tmp_path_factory.mktemp("members")
    with stopped(folder, PROGRAMS / "members.cc", *CLANG) as gdb:
        yield gdb


def test_keys_and_complex_numbers(cxx: Gdb) -> None:
    long = '"10 a name that is longer than what lies in the object"'
    element = f"by_name[{long}].id = 10"
    assert decided(cxx, "all(by_name.id != 10)") == repr([element])
    assert decided(cxx, "all(by_name.id != 11)") == "['by_name[\"11\"].id = 11']"
    check(cxx, {"allfinite(waves)": 1, "allfinite(none.pos.x)": 1})
    cxx.run("set var waves.__begin_[7].__re_ = 0.0/0.0")
    assert "waves[7] = " in decided(cxx, "allfinite(waves)")


def test_small_elements_lie_in_what_a_node_has_left(cxx: Gdb) -> None:
    check(cxx, {"max(letters)": ord("c"), "sum(shorts)": 6, "max(halves)": 1.5, "sum(view)": 10})
    assert decided(cxx, "max(halves)") == "['halves[3] = 1.5']"

"""Of a test with many variants `make test` runs one."""

from __future__ import annotations

import pytest
from conftest import sampled


@pytest.mark.parametrize("count", [1, 2, 3, 12])
def test_each_variant_is_somewhere_in_the_sample(count: int) -> None:
    tests = [f"tests/layer/test_file.py::test_{number}" for number in range(100 * count)]
    chosen = [sampled(test, count) for test in tests]
    assert chosen == [sampled(test, count) for test in tests]
    assert all(50 < chosen.count(variant) < 150 for variant in range(count))

"""Of a test with many variants `make test` runs a fair sample."""

from __future__ import annotations

import pytest
from conftest import VARIANTS, sampled


@pytest.mark.parametrize("count", [1, 3, VARIANTS, 5, 6, 8, 12, 100])
def test_first_last_and_both_of_two_kinds(count: int) -> None:
    kept = sampled(count)
    assert len(kept) == min(count, VARIANTS)
    assert {0, count - 1} <= kept <= set(range(count))
    assert count % 2 or {one % 2 for one in kept} == {0, 1}

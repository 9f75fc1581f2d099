"""One server for many ranks: those that it stands in, and those that it keeps open."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rdb.server import turning


class Fake:
    """The timeline of a rank."""

    opened: list[Fake]

    def __init__(self, recording: Any) -> None:
        self.name = recording.name
        self.open = True
        Fake.opened.append(self)

    def close(self) -> None:
        assert self.open
        self.open = False

    def renew(self) -> None:
        assert self.open


def recording(name: str) -> Any:
    return SimpleNamespace(name=name, check=lambda: None, meta={"exe": "/p"}, files={})


def test_the_latest_ranks_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    Fake.opened = []
    monkeypatch.setattr(turning, "open_job", lambda job: SimpleNamespace(rank=recording))
    monkeypatch.setattr(turning, "Timeline", Fake)
    first = recording("0")
    ranks: Any = turning.Turning("job", Fake(first), first)  # type: ignore[arg-type]
    for number in range(1, 200):
        for name in (str(number), "1", "0"):
            timeline, found = ranks.to(name, fresh=True)
            assert timeline.open and (timeline.name, found.name) == (name, name)
        assert sum(one.open for one in Fake.opened) <= 40
    assert [one.name for one in Fake.opened] == [str(number) for number in range(200)]
    ranks.close()
    assert [one.name for one in Fake.opened if one.open] == ["0"]

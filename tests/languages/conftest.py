"""What the matrix found, as a table."""

from __future__ import annotations

from collections import Counter

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows: dict[tuple[str, str], Counter[str]] = {}
    for report in terminalreporter.stats.get("passed", []):
        for key, found in getattr(report, "user_properties", []):
            if key == "languages":
                name, level, counts = found
                rows.setdefault((name, level), Counter({"builds": 0})).update(counts)
                rows[name, level]["builds"] += 1
    if not rows:
        return
    columns = ("builds", "exact", "moved", "later", "undefined")
    terminalreporter.section("languages: answers of bisect")
    terminalreporter.write_line(f"{'':16}" + "".join(f"{one:>11}" for one in columns))
    for (name, level), counts in sorted(rows.items()):
        figures = "".join(f"{counts[one]:>11}" for one in columns)
        terminalreporter.write_line(f"{name:12}{level:4}{figures}")

"""The page of `rdb timeline` in a real browser: it is drawn, and hears mouse and keys."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest
from jobstore import Store

pytestmark = pytest.mark.page
_DEADLINE_S = 120
_STEPS = Path(__file__).parent / "steps.js"


def shown_by(browser: str, page: Path, *options: str) -> str:
    """What the browser says, without a window; it has no network, as the page needs none."""
    done = subprocess.run(
        [
            browser,
            *("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,800"),
            *("--virtual-time-budget=5000", "--host-resolver-rules=MAP * ~NOTFOUND"),
            f"--user-data-dir={page.parent / 'profile'}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=_DEADLINE_S,
        check=True,
    )
    return done.stdout


@pytest.fixture(scope="module")
def page(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "t.html"
    done = store.rdb("timeline", "causal", "-o", str(path), "--bookmark", "here=1:3")
    assert done.returncode == 0, done.stderr
    return path


def test_mouse_and_keys(browser: str, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    end = text.rindex("})();")
    stepped = page.with_name("steps.html")
    stepped.write_text(text[:end] + _STEPS.read_text(encoding="utf-8") + text[end:], "utf-8")
    report = re.search(r'<pre id="report">(.*?)</pre>', shown_by(browser, stepped, "--dump-dom"))
    assert report is not None, "the page's script did not come to its end"
    assert json.loads(html.unescape(report[1])) == []


def test_it_can_be_painted(browser: str, page: Path) -> None:
    picture = page.with_name("t.png")
    shown_by(browser, page, f"--screenshot={picture}")
    # A page that is empty but for its frame is a few kilobytes.
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000

"""Undo, branches, scripts and the names people know, in the console over several ranks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from terminal import rdb


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, build: Callable[..., Path]) -> Path:
    """Two recordings of one job of three ranks."""
    folder = tmp_path_factory.mktemp("home")
    for name in ("relay", "again"):
        arguments = ["run", "--name", name, "-n", "3", "--", str(build("mpi/relay.c", "-O0"))]
        done = rdb(folder, *arguments)
        assert done.returncode in (0, 3), done.stderr  # mpirun 5 has its ranks' exit code
    return folder


def transcript(home: Path, *lines: str, job: str = "relay", failing: bool = False) -> str:
    done = rdb(home, "attach", job, given="".join(f"{line}\n" for line in lines))
    assert done.returncode == int(failing), done.stdout + done.stderr
    return done.stdout


def answers(text: str) -> list[tuple[str, str]]:
    """Prompt with command, and what was answered."""
    parts = re.split(r"(?m)^((?:relay|again) \[[^>\n]*> .*)$", text)
    return list(zip(parts[1::2], [part.strip() for part in parts[2::2]], strict=True))


def test_row_25_a_branch_in_one_rank_of_three(home: Path) -> None:
    said = answers(
        transcript(
            home,
            *("focus 1", "goto start", "break relay if turn == 2", "continue", "focus 0-1"),
            *("focus 1", "set var value = 50", "next", "print passed", "branch", "undo"),
            *("print value", "undo", "print value", "redo 2", "print passed", "undo 2", "history"),
        )
    )
    prompts = [prompt for prompt, _ in said]
    texts = [text for _, text in said]
    assert all("branch 1>" in prompt for prompt in prompts[7:12])
    assert "= 50" in texts[8]
    assert texts[9].startswith("1: * 1") and "set var value = 50" in texts[9]
    assert texts[10].startswith("undid next in 1")
    assert "= 50" in texts[11] and "= 3" in texts[13]
    assert "branch" not in prompts[13]
    assert "= 50" in texts[15] and "branch 1>" in prompts[15]
    assert "branch" not in prompts[17]
    assert re.search(r"\d+ +1 +\d+ relay\.c:\d+ .*set var value = 50 +\(undone\)", texts[17])


def test_undo_to_a_bookmark_in_the_ranks_it_went_to(home: Path) -> None:
    said = answers(
        transcript(
            home,
            *("goto start", "bookmark begin", "break relay", "focus 1", "continue"),
            *("set print pretty on", "undo --to begin", "info breakpoints", "show print pretty"),
            "undo --to begin",
            failing=True,
        )
    )
    assert said[6][1].startswith("undid set print pretty on in 1\nundid continue in 1\nundid focus")
    assert said[7][0].startswith("relay [0-2] start>") and "No breakpoints" in said[7][1]
    assert "is off" in said[8][1]
    assert "nothing was done since begin" in said[9][1]


def test_a_saved_history_runs_on_another_recording(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "commands"
    text = transcript(
        home,
        *("focus 1", "goto start", "break relay if turn == 5", "continue", "next", "step"),
        *("undo", f"history --save {script}", "print passed", "where"),
    )
    assert f"5 commands written to {script}" in text
    assert script.read_text().splitlines() == [
        *("focus 1", "goto start", "break relay if turn == 5", "continue", "next")
    ]
    again = transcript(home, f"source {script}", "print passed", "where", "undo 5", job="again")
    assert "again [1] start> break relay if turn == 5" in again
    one, other = (dict((p.split("> ")[1], t) for p, t in answers(t)) for t in (text, again))
    assert one["where"] == other["where"] and one["print passed"] == other["print passed"]
    assert "undid focus 1" in other["undo 5"]


def test_a_script_that_is_not_there_or_runs_itself(home: Path, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.write_text(f"source {loop}\n")
    text = transcript(home, f"source {tmp_path}/none", f"source {loop}", failing=True)
    assert "cannot read" in text and "more than 16 scripts within each other" in text


def test_names_people_know_over_all_ranks(home: Path) -> None:
    said = answers(
        transcript(
            home,
            *("run", "ugo end", "checkpoint", "run 3", "when", "restart 1", "uinfo time"),
            *("info checkpoints", "delete checkpoint 1", "info checkpoints", "ubookmark there"),
            *("ugo start", "ugo bookmark there", "undo"),
        )
    )
    texts = [text for _, text in said]
    assert texts[2].count("Checkpoint 1 at ") >= 1
    assert "Completed event: 3" in texts[4]
    assert said[6][0].startswith("relay [0-2] end>") and "Current time is: " in texts[6]
    assert "No checkpoints." in texts[9] and "No checkpoints." not in texts[7]
    assert said[12][0].startswith("relay [0-2] start>")
    assert "undid ugo bookmark there" in texts[13]


def test_the_shell_runs_once_and_says_that_it_cannot_be_undone(home: Path) -> None:
    [(_, text)] = answers(transcript(home, "shell echo one line"))
    assert text.count("one line") == 1
    assert text.index("cannot be undone") < text.index("one line")


def test_hits_of_breakpoints_are_undone(home: Path) -> None:
    """Also of one that `undo` makes again; GDB itself cannot take a hit back."""

    def hits(text: str) -> int:
        found = re.search(r"already hit (\d+) time(s?)$", text, re.M)
        assert found is None or (found[2] == "s") == (int(found[1]) > 1)
        return int(found[1]) if found else 0

    said = answers(
        transcript(
            home,
            *("focus 1", "goto start", "break relay", "info breakpoints"),
            *("continue", "continue", "info breakpoints", "undo", "i b", "undo", "info break"),
            *("redo 2", "info breakpoints", "delete", "undo", "info breakpoints"),
            *("condition 2 1 == 1", "i b", "continue", "info breakpoints"),
        )
    )
    shown = [text for line, text in said if re.search(r"> (i|info) b", line)]
    assert [hits(text) for text in shown] == [0, 2, 1, 0, 2, 2, 2, 3]
    assert re.search(r"stop only if 1 == 1.*\n\s*breakpoint already hit 2 times", shown[-2])

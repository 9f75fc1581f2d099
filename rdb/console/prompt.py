"""The prompt: job, focus, and the position of the ranks in focus if it is the same for all."""

from __future__ import annotations

from rdb.session.ranks import format_ranks
from rdb.session.session import Session


def prompt_text(session: Session) -> str:
    """`heat-1 [0-3] end> `, in a branch `heat-1 [2] 118 branch 1> `"""
    states = session.states
    focused = [states[rank] for rank in session.focus if rank in states]
    points = {session.point(rank) for rank in session.focus}
    parts = [session.job.name, f"[{format_ranks(session.focus)}]"]
    if len(points) == 1:
        parts.append(points.pop())
    threads = {state.thread for state in focused}
    if len(threads) == 1 and threads != {None}:
        parts.append(f"thread {threads.pop()}")
    branches = {state.branch_title or "?" for state in focused if state.branch}
    if branches:
        parts.append(f"branch {branches.pop()}" if len(branches) == 1 else "branches")
    return " ".join(parts) + "> "

"""Completion: our commands and their arguments; for the rest, GDB's `complete`."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from rdb.commands.table import REGISTRY
from rdb.errors import RdbError
from rdb.session.session import Session

_LAST_WORD = re.compile(r"[\w$.:>-]*\Z")


class ConsoleCompleter(Completer):
    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        return ()  # the asynchronous method asks GDB

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        text = document.text_before_cursor.lstrip()
        candidates = own_candidates(self._session, text)
        if candidates is None:
            try:
                found = await self._session.complete(text)
            except RdbError:  # GDB has ended: no completions; the next command reports it
                found = []
            candidates = [*_starting(REGISTRY.names(), text), *found]
        word = _LAST_WORD.search(text)
        kept = word.start() if word else len(text)
        for candidate in sorted(set(candidates)):
            yield Completion(
                candidate, start_position=-len(text), display=candidate[kept:] or candidate
            )


def own_candidates(session: Session, text: str) -> list[str] | None:
    """Lines that complete an argument of one of our commands; None: ask GDB."""
    head, space, argument = text.partition(" ")
    if not space:
        return None
    if head == "focus":
        words = ["all", "failed", *session.sets, *map(str, session.ranks)]
    elif head == "undefset":
        words = list(session.sets)
    elif head in ("help", "h"):
        words = REGISTRY.names()
    else:
        return None
    return [f"{head} {word}" for word in _starting(words, argument)]


def _starting(names: Iterable[str], text: str) -> list[str]:
    return [name for name in names if name.startswith(text)]

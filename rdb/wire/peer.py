"""Questions and answers over a channel: several may be under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from rdb.errors import RdbError
from rdb.wire.channel import Channel, Closed, Message

Answer = tuple[Message, bytes]
Handler = Callable[[Message, bytes], Awaitable[Answer]]


class Peer:
    """The end that asks.  Needs a running event loop."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._gone: RdbError | None = None
        self._reader = asyncio.create_task(self._read())

    async def ask(self, message: Message, data: bytes = b"") -> Answer:
        """Sends a question and waits for its answer.

        Raises RdbError if the other end answers with an error, Closed or Refused if the channel
        ends.
        """
        if self._gone is not None:
            raise self._gone
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._channel.send({"id": number, "ask": message}, data)
            found, more = await answer
        finally:
            self._waiting.pop(number, None)
        if "error" in found:
            raise RdbError(str(found["error"]), found.get("hint"), found.get("code"))
        return found, more

    async def _read(self) -> None:
        try:
            while True:
                message, data = await self._channel.receive()
                waits = self._waiting.get(message["id"])
                if waits is not None and not waits.done():
                    waits.set_result((message["answer"], data))
        except RdbError as error:
            self._gone = error
        except (KeyError, TypeError):
            self._gone = Closed("the agent sent an answer that rdb does not understand")
        finally:
            self._gone = self._gone or Closed("lost the connection to the agent")
            for waits in self._waiting.values():
                if not waits.done():
                    waits.set_exception(self._gone)

    async def close(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self._channel.closed()


async def serve(channel: Channel, handle: Handler) -> None:
    """The end that answers: calls HANDLE for each question until the other end closes.

    Raises Refused if the other end breaks the protocol.
    """
    tasks: set[asyncio.Task[None]] = set()
    try:
        while True:
            message, data = await channel.receive()
            task = asyncio.create_task(_answer(channel, handle, message, data))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    except Closed:
        pass  # the other end needs no more answers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        channel.close()


async def _answer(channel: Channel, handle: Handler, message: Message, data: bytes) -> None:
    try:
        answer, more = await handle(message["ask"], data)
    except RdbError as error:
        answer, more = {"error": error.message, "hint": error.hint, "code": error.exit_code}, b""
    except OSError as error:
        answer, more = {"error": f"{error.filename or 'agent'}: {error.strerror}"}, b""
    except (KeyError, TypeError, ValueError) as error:
        answer, more = {"error": f"the agent does not understand the request: {error!r}"}, b""
    try:
        await channel.send({"id": message["id"], "answer": answer}, more)
    except Closed:
        return  # nobody waits for the answer

"""Clients that take too long: a connection that is held open and not used must not keep others out."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS, BODY_SECONDS, READING_SECONDS = 10.0, 120.0, 60.0
"""Within which a client is to say what it wants, to send all of its file, and to take what waits for it."""


class Impatient(H11Protocol):
    """Uvicorn's HTTP/1.1, which by itself waits for ever for the end of what a client has begun to say, or to read."""

    _turn: object = None
    """What the client is expected to do, as h11 calls it, when its time began."""
    _saying: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        transport.set_write_buffer_limits(0)  # pause_writing is to be called for whatever the client does not take
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _cancel(self._saying)
        _cancel(self._reading)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(READING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        _cancel(self._reading)

    def _expect(self) -> None:
        """Begin to wait for what comes next. More of the same does not begin it anew: a letter at a time is slow."""
        turn: Any = self.conn.their_state
        if turn is self._turn:
            return
        self._turn = turn
        _cancel(self._saying)
        if turn in (h11.IDLE, h11.SEND_BODY):
            seconds = HEAD_SECONDS if turn is h11.IDLE else BODY_SECONDS
            self._saying = self.loop.call_later(seconds, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()

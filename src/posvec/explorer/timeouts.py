"""Timeouts of HTTP connections: a client that holds a connection without using it must not keep others out."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
"""Time for a client to send a request line and its headers."""
BODY_SECONDS = 120.0
"""Time for a client to send the body of a request."""
RESPONSE_SECONDS = 60.0
"""Time for a client to read what is buffered for it."""


class TimeoutProtocol(H11Protocol):
    """Close connections whose client is too slow.

    Uvicorn's own HTTP/1.1 protocol waits without a limit for the rest of a request that a client has begun to send, and
    for a client to read its response. This class is for the setting ``http`` of ``uvicorn.Config``.
    """

    _client_state: object = None
    """What h11 expected of the client when the timer of its request was started."""
    _request_timer: asyncio.TimerHandle | None = None
    _response_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer of the first request."""
        transport.set_write_buffer_limits(0)  # so that pause_writing is called for any bytes the client does not read
        super().connection_made(transport)
        self._restart_request_timer()

    def data_received(self, data: bytes) -> None:
        """Handle received bytes and restart the timer if they complete a part of the request."""
        super().data_received(data)
        self._restart_request_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel both timers."""
        super().connection_lost(exc)
        _cancel(self._request_timer)
        _cancel(self._response_timer)

    def pause_writing(self) -> None:
        """Start the timer of a response that the client does not read."""
        super().pause_writing()
        self._response_timer = self.loop.call_later(RESPONSE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel the timer of a response that the client has read."""
        super().resume_writing()
        _cancel(self._response_timer)

    def _restart_request_timer(self) -> None:
        """Restart the timer when another part of the request begins.

        More bytes of the same part do not restart it: a client could send one byte at a time for ever.
        """
        state: Any = self.conn.their_state
        if state is self._client_state:
            return
        self._client_state = state
        _cancel(self._request_timer)
        if state in (h11.IDLE, h11.SEND_BODY):
            seconds = HEAD_SECONDS if state is h11.IDLE else BODY_SECONDS
            self._request_timer = self.loop.call_later(seconds, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer:
        timer.cancel()

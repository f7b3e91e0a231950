"""Who may ask, and how much: a page of another site must not read models through the browser of the one who runs this.

- Host: a name that an attacker controls can be made to point to 127.0.0.1 (DNS rebinding). Only names that this
  server is known by are answered.
- Origin and Sec-Fetch-Site: browsers say which site a request comes from. Others are refused; links to a page of the
  explorer may be followed from anywhere.
- Bodies have a limit. (One whose length is not told beforehand is counted where it is read, in ``evaluations.py``.)
- Clients that take too long are hung up on, in ``patience.py``.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

MOST_BYTES = 16 * 1024 * 1024

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_HEADERS = {
    # Nothing is loaded from elsewhere, nothing runs but the page's own modules, no other page frames this one.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Wraps an ASGI application; ``host`` is the address that the server listens at."""

    def __init__(self, application: Application, host: str, most_bytes: int = MOST_BYTES) -> None:
        self.application = application
        self.host = host
        self.most_bytes = most_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self.application(scope, receive, send)
        if scope["type"] != "http":  # there are no websockets here
            return await send({"type": "websocket.close", "code": 1008})
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        hosts = [name for name, _ in scope["headers"] if name.lower() == b"host"]
        if problem := self._refusal(headers if len(hosts) == 1 else {**headers, "host": ""}, scope["path"]):
            return await _answer(_with_headers(send), *problem)
        return await self.application(scope, receive, _with_headers(send))

    def _refusal(self, headers: dict[str, str], path: str) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not is_known_host(_hostname(host), self.host):
            return 421, f"this server is not known as {host[:100]!r}; use the address that posvec explore printed"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return 403, f"requests from other pages are refused, and this one comes from {origin[:100]!r}"
        followed = headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api/")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not followed:
            return 403, "requests from pages of other sites are refused; open the address of the explorer itself"
        length = headers.get("content-length", "0")
        # Not int of hundreds of digits, which Python refuses.
        if not length.isdecimal() or len(length) > 18 or int(length) > self.most_bytes:
            return 413, too_large(self.most_bytes)
        return None


def too_large(most_bytes: int) -> str:
    return f"a file can have {most_bytes:,} bytes; send a smaller one"


def is_known_host(name: str, listening: str) -> bool:
    """Whether a server that listens at an address goes by this name.

    One that listens at all addresses, or at one in the network, is known by any address in digits, which no name
    server can redirect, and by the name of the machine.
    """
    if name in ("localhost", listening.lower()):
        return True
    address = _address(name)
    if is_local(listening):
        return address is not None and address.is_loopback
    return address is not None or name in (socket.gethostname().lower(), socket.getfqdn().lower())


def is_local(host: str) -> bool:
    """Whether nobody but this machine reaches an address."""
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _hostname(host: str) -> str:
    """The name in a Host header, without its port; empty if there is none, or more than a name and a port."""
    try:
        return (urlsplit(f"//{host}").hostname or "") if not set(host) & set("@/?#\\") else ""
    except ValueError:
        return ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await send(message)

    return sending


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

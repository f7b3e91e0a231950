"""Request checks: a page of another site must not read models through the browser of the user who runs the explorer.

- Host: DNS rebinding lets an attacker's host name point to 127.0.0.1. Requests are answered only under the names of
  this server.
- Origin and Sec-Fetch-Site: browsers send the site that a request comes from. Requests of other sites are refused,
  except for links to the pages of the explorer.
- Size: the address and the headers have a maximum size. The server's own limit is that of a head which arrives in
  parts.
- Content-Length: bodies have a maximum size. (``evaluations.py`` counts the bytes of bodies sent without a length.)

``timeouts.py`` closes the connections of clients that are too slow.
"""

from __future__ import annotations

import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_HEAD_BYTES = 64 * 1024
"""The largest size of a request's address and headers. A sentence of 2,000 characters takes up to 24,000 bytes."""
MAX_UPLOADED_BYTES = 2 * MAX_BODY_BYTES
"""The largest size of all bodies that are being received at the same time."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

_HEADERS = {
    # The page loads nothing from other sites, runs only its own modules, and is not framed by other pages.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class SecurityMiddleware:
    """Refuse requests from other sites, under foreign host names or with bodies that are too large.

    Parameters
    ----------
    application
        The ASGI application that answers all other requests.
    host
        The address that the server listens at.
    max_body_bytes
        The largest body of a request.
    """

    def __init__(self, application: Application, host: str, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self.application = application
        self.host = host
        self.max_body_bytes = max_body_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, as ASGI defines it."""
        if scope["type"] == "lifespan":
            return await self.application(scope, receive, send)
        if scope["type"] != "http":  # the explorer has no websockets
            return await send({"type": "websocket.close", "code": 1008})
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        size = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope.get("query_string", b""))
        if size > MAX_HEAD_BYTES:
            sentence = f"the address and the headers have more than {MAX_HEAD_BYTES:,} bytes; ask for less"
            return await _send_error(_with_security_headers(send), 431, sentence)
        hosts = [name for name, _ in scope["headers"] if name.lower() == b"host"]
        if refusal := self.check_request(headers if len(hosts) == 1 else {**headers, "host": ""}, scope["path"]):
            return await _send_error(_with_security_headers(send), *refusal)
        return await self.application(scope, receive, _with_security_headers(send))

    def check_request(self, headers: dict[str, str], path: str) -> tuple[int, str] | None:
        """Decide from its headers whether to answer a request.

        Parameters
        ----------
        headers
            The headers by their names in lower case.
        path
            The path of the URL.

        Returns
        -------
        tuple or None
            The HTTP status and the error message of the refusal; None if the request is to be answered.

        Examples
        --------
        >>> from posvec.explorer.security import SecurityMiddleware
        >>> middleware = SecurityMiddleware(application=None, host="127.0.0.1")
        >>> middleware.check_request({"host": "rebound.example"}, "/gap")
        (421, "unknown host name 'rebound.example'; use the address that posvec explore printed")
        >>> middleware.check_request({"host": "localhost:8000"}, "/gap")
        """
        host = headers.get("host", "")
        if not is_known_host(_host_name(host), self.host):
            return 421, f"unknown host name {host[:100]!r}; use the address that posvec explore printed"
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
            return 403, f"request from the page {origin[:100]!r} refused; open the address of the explorer itself"
        is_link = headers.get("sec-fetch-mode") == "navigate" and not path.startswith("/api/")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not is_link:
            return 403, "request from a page of another site refused; open the address of the explorer itself"
        length = headers.get("content-length", "0")
        # The number of digits comes first: int() raises an error for thousands of them.
        if not length.isdecimal() or len(length) > 18 or int(length) > self.max_body_bytes:
            return 413, body_too_large_message(self.max_body_bytes)
        return None


def body_too_large_message(max_bytes: int) -> str:
    """Return the error message for a body that is too large.

    Parameters
    ----------
    max_bytes
        The largest size that is accepted.

    Returns
    -------
    str
        One sentence.

    Examples
    --------
    >>> from posvec.explorer.security import body_too_large_message
    >>> body_too_large_message(1000)
    'the file has more than 1,000 bytes; send a smaller one'
    """
    return f"the file has more than {max_bytes:,} bytes; send a smaller one"


def is_known_host(name: str, listening_host: str) -> bool:
    """Return whether a host name belongs to the server.

    A server that listens at a loopback address has the name localhost and all loopback addresses. One that listens at
    all addresses, or at an address of the network, also has the name of the machine and any numeric address: a numeric
    address cannot be redirected by a name server.

    Parameters
    ----------
    name
        The host name of a request, without its port.
    listening_host
        The address that the server listens at.

    Returns
    -------
    bool
        Whether to answer requests under this name.

    Examples
    --------
    >>> from posvec.explorer.security import is_known_host
    >>> is_known_host("10.0.0.1", "127.0.0.1"), is_known_host("10.0.0.1", "0.0.0.0")
    (False, True)
    """
    if name in ("localhost", listening_host.lower()):
        return True
    address = _ip_address(name)
    if is_loopback(listening_host):
        return address is not None and address.is_loopback
    return address is not None or name in (socket.gethostname().lower(), socket.getfqdn().lower())


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address.

    Parameters
    ----------
    host
        A host name or a numeric address.

    Returns
    -------
    bool
        Whether it is localhost or a loopback address.

    Examples
    --------
    >>> from posvec.explorer.security import is_loopback
    >>> is_loopback("::1"), is_loopback("0.0.0.0")
    (True, False)
    """
    address = _ip_address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _ip_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None


def _host_name(host: str) -> str:
    """The name in a Host header without its port; empty if the header has anything but a name and a port."""
    try:
        return (urlsplit(f"//{host}").hostname or "") if not set(host) & set("@/?#\\") else ""
    except ValueError:
        return ""


def _with_security_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            extra = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await send(message)

    return send_with_headers


async def _send_error(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

"""The explorer as an ASGI application, and the server that runs it."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from posvec import __version__
from posvec.errors import ConfigError, PosvecError, UnknownWordError
from posvec.explorer import evaluations
from posvec.explorer.api import router
from posvec.explorer.loaded_models import LoadedModel
from posvec.explorer.security import MAX_HEAD_BYTES, SecurityMiddleware, is_loopback
from posvec.system.threads import thread_count
from posvec.system.utf8 import printable_text

if TYPE_CHECKING:
    import uvicorn

VIEWS = ("gap", "positions", "words", "model")
_STATIC = str(files("posvec.explorer") / "static")


def make_application(models: Mapping[str, LoadedModel], host: str = "127.0.0.1") -> SecurityMiddleware:
    """Create the ASGI application of the page and its API.

    Parameters
    ----------
    models
        The models by their names.
    host
        The address that the server will listen at.

    Returns
    -------
    SecurityMiddleware
        The application, behind the checks of its requests.

    Examples
    --------
    >>> from pathlib import Path
    >>> from starlette.testclient import TestClient
    >>> from posvec.explorer.application import make_application
    >>> from posvec.explorer.loaded_models import load_models
    >>> application = make_application(load_models({"animals": Path("model")}))
    >>> client = TestClient(application, "http://127.0.0.1")
    >>> client.get("/api/models").json()[0]["kind"]
    'two-heads'
    """
    application = FastAPI(
        title="posvec explorer",
        version=__version__,
        description="What the models opened by `posvec explore` have learnt.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's pages of documentation load scripts from other sites
        redoc_url=None,
        lifespan=_limit_threads,
    )
    application.state.models = dict(models)
    application.include_router(router)
    application.mount("/static", StaticFiles(directory=_STATIC))
    application.add_api_route("/", lambda: RedirectResponse(VIEWS[0]), include_in_schema=False)
    for view in VIEWS:  # one page for all views: its script reads the view from the address
        application.add_api_route(f"/{view}", lambda: FileResponse(f"{_STATIC}/index.html"), include_in_schema=False)
    application.add_exception_handler(PosvecError, _answer_posvec_error)
    application.add_exception_handler(RequestValidationError, _answer_validation_error)
    application.add_exception_handler(HTTPException, _answer_http_error)
    return SecurityMiddleware(application, host)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket.

    Parameters
    ----------
    host
        The host name or address.
    port
        The port; 0 chooses a free one.

    Returns
    -------
    socket.socket
        The socket.

    Raises
    ------
    ConfigError
        If the host is unknown or the port is in use.

    Examples
    --------
    >>> from posvec.explorer.application import listen
    >>> with listen("127.0.0.1", 0) as listening:
    ...     listening.getsockname()[0]
    '127.0.0.1'
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen at {host}, port {port}: {reason}; choose another --port or --host") from error
    # asyncio sets TCP_NODELAY only on sockets that it opens itself. Without it a response is delayed by 40 ms, until
    # the client has acknowledged its headers.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def page_url(listening: socket.socket, host: str) -> str:
    """Return the URL at which a browser on this machine finds the page.

    Parameters
    ----------
    listening
        The listening socket.
    host
        The host name or address that it was opened with.

    Returns
    -------
    str
        The URL.

    Examples
    --------
    >>> from posvec.explorer.application import listen, page_url
    >>> with listen("0.0.0.0", 0) as listening:
    ...     page_url(listening, "0.0.0.0")
    'http://127.0.0.1:.../'
    """
    name = host if is_loopback(host) else listening.getsockname()[0]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    port = listening.getsockname()[1]
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def server_settings(models: Mapping[str, LoadedModel], host: str = "127.0.0.1") -> uvicorn.Config:
    """Return the configuration of the server: its application, timeouts and limits.

    Parameters
    ----------
    models
        The models by their names.
    host
        The address that the server will listen at.

    Returns
    -------
    uvicorn.Config
        The configuration.
    """
    import uvicorn

    from posvec.explorer.timeouts import TimeoutProtocol

    return uvicorn.Config(
        make_application(models, host),
        http=TimeoutProtocol,  # based on h11, whatever other parsers are installed
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,  # counted without heads that arrive whole: SecurityMiddleware
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=2,
    )


def serve(models: Mapping[str, LoadedModel], listening: socket.socket, host: str = "127.0.0.1") -> None:
    """Serve the page until Ctrl-C.

    Parameters
    ----------
    models
        The models by their names.
    listening
        The listening socket.
    host
        The host name or address that it was opened with.

    Raises
    ------
    KeyboardInterrupt
        After an orderly shutdown.
    """
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            evaluations.cancel_latest()
            # Requests that the shutdown interrupts are not errors to log.
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            await super().shutdown(sockets)

    try:
        Server(server_settings(models, host)).run(sockets=[listening])
    finally:
        evaluations.join_latest()


@asynccontextmanager
async def _limit_threads(application: FastAPI) -> AsyncGenerator[None, None]:
    """Process as many requests at once as there are cores, and queue the others.

    The default is 40 at once. Each request uses several threads itself, so that they would mostly wait for each other.
    """
    to_thread.current_default_thread_limiter().total_tokens = max(2, thread_count(0))
    yield


def _answer_posvec_error(request: Request, error: Any) -> JSONResponse:
    # Status 200 for unknown words: they are no errors of the page, which asks again after every keystroke.
    return JSONResponse({"error": printable_text(str(error))}, 200 if isinstance(error, UnknownWordError) else 400)


def _answer_http_error(request: Request, error: Any) -> JSONResponse:
    return JSONResponse({"error": printable_text(str(error.detail))}, error.status_code, error.headers)


def _answer_validation_error(request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return JSONResponse({"error": f"{name}: {first['msg'][:1].lower()}{first['msg'][1:]}"}, 422)

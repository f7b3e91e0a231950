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
from posvec.explorer.opened import OpenedModel
from posvec.explorer.security import Guard, is_local
from posvec.system.threads import thread_count

if TYPE_CHECKING:
    import uvicorn

VIEWS = ("gap", "positions", "words", "model")
_STATIC = str(files("posvec.explorer") / "static")


def make_application(models: Mapping[str, OpenedModel], host: str = "127.0.0.1") -> Guard:
    """The page and its API over these models, for a server that listens at ``host``."""
    application = FastAPI(
        title="posvec explorer",
        version=__version__,
        description="What the models opened by `posvec explore` have learnt.",
        openapi_url="/api/openapi.json",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_in_turn,
    )
    application.state.models = dict(models)
    application.include_router(router)
    application.mount("/static", StaticFiles(directory=_STATIC))
    application.add_api_route("/", lambda: RedirectResponse(VIEWS[0]), include_in_schema=False)
    for view in VIEWS:  # the page finds out from its address which view to show
        application.add_api_route(f"/{view}", lambda: FileResponse(f"{_STATIC}/index.html"), include_in_schema=False)
    application.add_exception_handler(PosvecError, _cannot)
    application.add_exception_handler(RequestValidationError, _invalid)
    application.add_exception_handler(HTTPException, _refused)
    return Guard(application, host)


def listen(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 takes a free one."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot listen at {host}, port {port}: {reason}; choose another --port or --host") from error
    # asyncio does so for sockets that it opens itself: else an answer waits 40 ms for the receipt of its headers.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def address(listening: socket.socket, host: str) -> str:
    """Where a browser of this machine finds the page."""
    name = host if is_local(host) else listening.getsockname()[0]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)
    port = listening.getsockname()[1]
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def server_settings(models: Mapping[str, OpenedModel], host: str = "127.0.0.1") -> uvicorn.Config:
    """Of the server: how long, how much and how many at once."""
    import uvicorn

    from posvec.explorer.patience import Impatient

    return uvicorn.Config(
        make_application(models, host),
        http=Impatient,  # by h11, which takes headers of 16 kB at most, whatever other parsers there are
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=2,
    )


def serve(models: Mapping[str, OpenedModel], listening: socket.socket, host: str = "127.0.0.1") -> None:
    """Answer until interrupted (Ctrl-C): ends in good order, then raises KeyboardInterrupt."""
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            evaluations.end()
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)  # what the end cuts off is no failure
            await super().shutdown(sockets)

    try:
        Server(server_settings(models, host)).run(sockets=[listening])
    finally:
        evaluations.join()


@asynccontextmanager
async def _in_turn(application: FastAPI) -> AsyncGenerator[None, None]:
    """As many requests are worked on at once as there are cores, others in the order in which they came.

    By default there are 40 at once: each takes several threads, which then wait for one another most of the time.
    """
    to_thread.current_default_thread_limiter().total_tokens = max(2, thread_count(0))
    yield


def _cannot(request: Request, error: Any) -> JSONResponse:
    # A word that a model does not know is no mistake in a question, and comes up at every letter that is typed.
    return JSONResponse({"error": str(error)}, 200 if isinstance(error, UnknownWordError) else 400)


def _refused(request: Request, error: Any) -> JSONResponse:
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)


def _invalid(request: Request, error: Any) -> JSONResponse:
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return JSONResponse({"error": f"{name}: {first['msg'][:1].lower()}{first['msg'][1:]}"}, 422)

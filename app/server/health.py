"""Is the server well? `/healthz`: it answers. `/readyz`: it can make pictures, the engine is loaded; 503 until then."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.kit import seams, startup


def routes() -> list[Route]:
    """Both, below the base path."""
    return [Route(seams.below_base("/healthz"), healthy), Route(seams.below_base("/readyz"), ready)]


async def healthy(request: Request) -> PlainTextResponse:
    """The server answers."""
    return PlainTextResponse("ok\n")


async def ready(request: Request) -> PlainTextResponse:
    """Whether the engine is loaded, so that a reader sent here has a picture within seconds."""
    loaded = startup.warm_up().loaded.is_set()
    return PlainTextResponse("ready\n" if loaded else "loading the engine\n", status_code=200 if loaded else 503)

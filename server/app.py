"""The application factory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from server import problems
from server.api import (
    channels,
    deliveries,
    depth_history,
    events,
    health,
    jobs,
    lab,
    metrics,
    operator,
    queue,
    queue_drain,
)
from server.body_limit import with_body_limit
from server.database import Pool, new_pool
from server.document import describe
from server.feed import Feed
from server.headers import with_secure_headers
from server.jobs.service import JobService
from server.lab.workers import LabWorkers
from server.loop_lag import WorstLag, watch_loop
from server.outbox import Depth, depth
from server.settings import Settings
from server.single_flight import SingleFlight
from server.site import site

RESOURCES = (
    health,
    queue,
    depth_history,
    events,
    queue_drain,
    deliveries,
    operator,
    channels,
    jobs,
    lab,
    metrics,
)


def create_api(
    settings: Settings,
    conninfo: str,
    *,
    stop: asyncio.Event | None = None,
    wakes_jobs: bool = False,
) -> FastAPI:
    """The API alone. It starts without its database and answers 503 until that is there.

    A drain that runs here ends early, in good order, when `stop` is set. With `wakes_jobs` jobs
    are woken when they are due; on demand they are in any case.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        pool = new_pool(conninfo, wait_s=settings.database_wait_s)
        await pool.open()
        app.state.pool = pool
        app.state.depth = SingleFlight(partial(_read_depth, pool))
        app.state.lag = WorstLag()
        watching = asyncio.create_task(watch_loop(app.state.lag.note))
        app.state.feed = Feed(pool, settings.listen_conninfo(conninfo), events.encode)
        app.state.lab = LabWorkers(settings, conninfo) if settings.lab_mode else None
        app.state.jobs = JobService(settings, conninfo, pool.connection)
        ending = asyncio.create_task(_close_at(app.state.stop, app.state.feed))
        try:
            async with app.state.jobs.wakes() if wakes_jobs else contextlib.nullcontext():
                yield
        finally:
            await app.state.jobs.close()
            app.state.feed.close()
            await app.state.feed.ended()
            if app.state.lab is not None:
                await app.state.lab.close()
            ending.cancel()
            watching.cancel()
            await pool.close()

    app = FastAPI(
        title="Workers",
        summary="A queue's depth, and deliveries to watch it by.",
        version="0.1.0",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.settings = settings
    app.state.conninfo = conninfo
    app.state.stop = stop or asyncio.Event()
    app.state.draining = asyncio.Lock()
    problems.install(app)
    for resource in RESOURCES:
        app.include_router(resource.router)
    app.state.routes = [route for resource in RESOURCES for route in resource.router.routes]
    describe(app, settings)
    return app


async def _close_at(stop: asyncio.Event, feed: Feed) -> None:
    """Ends the streams when the server is told to stop: it waits for them before it ends."""
    await stop.wait()
    feed.close()


async def _read_depth(pool: Pool) -> Depth:
    async with pool.connection() as connection:
        return await depth(connection)


def create_app(
    settings: Settings,
    conninfo: str,
    *,
    stop: asyncio.Event | None = None,
    wakes_jobs: bool = False,
) -> ASGIApp:
    """Everything that the server answers: the API below /api, the site everywhere else."""
    api = create_api(settings, conninfo, stop=stop, wakes_jobs=wakes_jobs)
    return assemble(api, site(settings.site))


def assemble(api: ASGIApp, pages: ASGIApp) -> ASGIApp:
    """Puts an API and pages side by side, with the body limit and the headers around them."""
    api = with_body_limit(api)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        of_the_api = scope["type"] != "http" or (scope["path"] + "/").startswith("/api/")
        await (api if of_the_api else pages)(scope, receive, send)

    return with_secure_headers(either)

"""The application factory."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from server import dashboard, problems
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
    queue_jobs,
    queues,
    queues_events,
    queues_operator,
)
from server.body_limit import with_body_limit
from server.database import Pool, new_pool
from server.document import describe
from server.engines import open_engine
from server.feed import Feed
from server.headers import with_secure_headers
from server.jobs.service import JobService
from server.lab.workers import LabWorkers
from server.loop_lag import WorstLag, watch_loop
from server.outbox import Depth, depth
from server.queues_feed import QueuesFeed
from server.redis_server import new_client
from server.settings import Settings
from server.single_flight import SingleFlight
from server.site import site
from server.tasks.files import KeptFiles

log = logging.getLogger(__name__)

TIDY_S = 600.0
"""How often files of jobs that are too old are looked for."""

MADE_HERE = ("/api/", "/queues/", "/en/queues/")
"""Below these paths the application answers; all else is the site's."""

RESOURCES = (
    health,
    queue,
    depth_history,
    events,
    queue_drain,
    queue_jobs,
    queues_events,
    queues,
    queues_operator,
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
    """The API alone. It starts without its servers and answers 503 until they are there.

    Without `settings.redis_url` there is no queue of jobs, and what needs it answers 503. A drain
    that runs here ends early, in good order, when `stop` is set. With `wakes_jobs` the named jobs
    are woken when they are due; on demand they are in any case.
    """

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with (
            _queue_of(app, settings),
            _outbox_of(app, settings, conninfo),
            _jobs_of(app, settings, conninfo, wakes=wakes_jobs),
        ):
            yield

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
    served = [*(resource.router for resource in RESOURCES), *dashboard.routers()]
    for router in served:
        app.include_router(router)
    app.state.routes = [route for router in served for route in router.routes]
    describe(app, settings)
    return app


@contextlib.asynccontextmanager
async def _jobs_of(
    app: FastAPI, settings: Settings, conninfo: str, *, wakes: bool
) -> AsyncIterator[None]:
    """Gives the application its named jobs, after its database."""
    app.state.jobs = JobService(settings, conninfo, app.state.pool.connection)
    try:
        async with app.state.jobs.wakes() if wakes else contextlib.nullcontext():
            yield
    finally:
        await app.state.jobs.close()


@contextlib.asynccontextmanager
async def _outbox_of(app: FastAPI, settings: Settings, conninfo: str) -> AsyncIterator[None]:
    """Gives the application its database, and what watches it."""
    pool = new_pool(conninfo, wait_s=settings.database_wait_s)
    await pool.open()
    app.state.pool = pool
    app.state.depth = SingleFlight(partial(_read_depth, pool))
    app.state.lag = WorstLag()
    watching = asyncio.create_task(watch_loop(app.state.lag.note))
    app.state.feed = Feed(pool, settings.listen_conninfo(conninfo), events.encode)
    app.state.lab = LabWorkers(settings, conninfo) if settings.lab_mode else None
    if app.state.lab is not None:
        app.state.feed.told = app.state.lab.watched
    app.state.queues_feed = queues_events.new_feed(app)
    feeds = (app.state.feed, app.state.queues_feed)
    ending = asyncio.create_task(_close_at(app.state.stop, *feeds))
    try:
        yield
    finally:
        for feed in feeds:
            feed.close()
        await app.state.feed.ended()
        if app.state.lab is not None:
            await app.state.lab.close()
        ending.cancel()
        watching.cancel()
        await pool.close()


@contextlib.asynccontextmanager
async def _queue_of(app: FastAPI, settings: Settings) -> AsyncIterator[None]:
    """Gives the application the files of jobs and, if there is a server for it, their queue."""
    app.state.files = KeptFiles.of(settings)
    app.state.decoding = asyncio.Semaphore(1)  # a picture in memory may be large
    app.state.redis = app.state.engine = None
    tidying = asyncio.create_task(_tidy(app.state.files))
    async with contextlib.AsyncExitStack() as lent:
        if settings.redis_url is not None:
            app.state.redis = await lent.enter_async_context(new_client(settings.redis_url))
            app.state.engine = await lent.enter_async_context(
                open_engine(settings, settings.redis_url)
            )
        try:
            yield
        finally:
            tidying.cancel()


async def _tidy(files: KeptFiles) -> None:
    while True:
        try:
            await asyncio.to_thread(files.tidy)
        except OSError as error:
            log.warning("cannot tidy: %s", error, extra={"action": "files-untidy"})
        await asyncio.sleep(TIDY_S)


async def _close_at(stop: asyncio.Event, *feeds: Feed | QueuesFeed) -> None:
    """Ends the streams when the server is told to stop: it waits for them before it ends."""
    await stop.wait()
    for feed in feeds:
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
    """Everything that the server answers: the API, the dashboard, the site everywhere else."""
    api = create_api(settings, conninfo, stop=stop, wakes_jobs=wakes_jobs)
    larger = {queue_jobs.PICTURES: settings.picture_bytes}
    return assemble(api, site(settings.site), larger)


def assemble(api: ASGIApp, pages: ASGIApp, larger: Mapping[str, int] | None = None) -> ASGIApp:
    """Puts an API and pages side by side, with the body limit and the headers around them.

    `larger` gives the paths that take more than the usual body, and how much.
    """
    api = with_body_limit(api, larger)

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        of_the_api = scope["type"] != "http" or (scope["path"] + "/").startswith(MADE_HERE)
        await (api if of_the_api else pages)(scope, receive, send)

    return with_secure_headers(either)

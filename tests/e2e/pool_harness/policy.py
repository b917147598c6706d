"""Pages as a server would send them that leaves some headers out."""

from playwright.sync_api import Page, Route

ISOLATION = ("cross-origin-opener-policy", "cross-origin-embedder-policy")
"""Without these a page is not cross-origin isolated."""


def serve_without(page: Page, *headers: str) -> None:
    """Take these headers off every index.html that the page will open."""

    def answer(route: Route) -> None:
        response = route.fetch()
        kept = {name: text for name, text in response.headers.items() if name not in headers}
        route.fulfill(response=response, headers=kept)

    page.route("**/index.html", answer)

"""Take the README's picture of the page: `.venv/bin/python scripts/screenshot.py`.

Both threads count the first sample, so that the ring shows the gap which the main thread left.
Needs a built site and the development packages.
"""

from __future__ import annotations

import os
import subprocess
import sys

from playwright.sync_api import expect, sync_playwright

from steps.place import HERE

TARGET = HERE.root / "docs" / "page.png"
PATIENCE_MS = 120_000


def main() -> int:
    """Write docs/page.png; return the exit status."""
    command = [sys.executable, str(HERE.root / "scripts" / "static_server.py"), f"/={HERE.site}"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        origin = server.stdout.readline().strip() if server.stdout else ""
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{origin}en/")
        for place in ("worker", "main"):
            button = page.locator(f".stage [data-run={place}]")
            button.click()
            expect(button).to_have_attribute("aria-disabled", "false", timeout=PATIENCE_MS)
        page.screenshot(path=TARGET)
        browser.close()
        server.terminate()
    print(f"wrote {TARGET.relative_to(HERE.root)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

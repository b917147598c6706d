"""What the handlers need is what a browser must fetch."""

import subprocess
import sys

_RUN = """
import sys
import handlers
from PIL import Image
import io
for mode, kind in (("RGB", "JPEG"), ("I;16", "PNG"), ("RGBA", "WEBP")):
    file = io.BytesIO()
    Image.new(mode, (8, 8)).save(file, kind)
    handlers.run("histogram", {"image": file.getvalue()})
print("numpy" in sys.modules)
"""


def test_numpy_is_not_loaded() -> None:
    """NumPy costs a browser 3 MB and about a second; nothing on the way to a result needs it."""
    run = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"

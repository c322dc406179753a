"""A page as headless Chromium renders it: its elements after loading, its width, its picture."""

import html
import html.parser
import os
import re
import shutil
import subprocess

PHONE = 390  # CSS pixels that a usual phone is wide
NAMES = ["chromium", "chromium-browser", "google-chrome"]


def find_browser():
    """Return the browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def run(browser, folder, *arguments):
    """Run the browser on a page without any network; returns what it prints."""
    root = ["--no-sandbox"] if os.getuid() == 0 else []  # it refuses root otherwise
    done = subprocess.run(
        [browser, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
         f"--user-data-dir={folder}/profile", *root, *arguments],
        capture_output=True, text=True, check=False, timeout=100)
    if done.returncode:
        raise RuntimeError(f"{browser}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def overflow(browser, folder, page):
    """Return by how many pixels a page is wider than a phone.

    It is loaded into a frame of a phone's width: windows of browsers have a least width.
    """
    wrapper = folder / "wrapper.html"
    wrapper.write_text(
        f'<!DOCTYPE html><iframe id="f" style="width:{PHONE}px;height:800px" '
        f'srcdoc="{html.escape(page)}"></iframe><pre id="widths"></pre><script>onload = () => {{'
        "const page = f.contentDocument.documentElement;"
        "widths.textContent = [f.contentWindow.innerWidth, page.scrollWidth].join(' ');"
        "}</script>", encoding="utf-8")
    dump = run(browser, folder, "--dump-dom", wrapper.as_uri())
    window, content = map(int, re.search(r'id="widths">(\d+) (\d+)<', dump).groups())
    if not PHONE - 10 <= window <= PHONE:
        raise RuntimeError(f"the frame is {window} pixels wide, not {PHONE}")
    return content - window


class Figures(html.parser.HTMLParser):
    """What figures hold: texts, and the drawn groups by their identifier."""

    def __init__(self, page):
        """Read a page."""
        super().__init__()
        self.texts = {}  # figure: texts in it
        self.drawn = {}  # figure: identifiers of groups with a path or a mark
        self._figure = None
        self._groups = []
        self._in_text = False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        """Follow into an element."""
        values = dict(attrs)
        if tag == "figure":
            self._figure = values["id"]
            self.texts[self._figure], self.drawn[self._figure] = [], set()
        elif tag == "g":
            self._groups.append(values.get("id"))
        elif tag in ("path", "use") and self._figure and (values.get("d") or "x" in values):
            self.drawn[self._figure].update(filter(None, self._groups))
        self._in_text = tag == "text"

    def handle_endtag(self, tag):
        """Leave an element."""
        if tag == "figure":
            self._figure = None
        elif tag == "g":
            self._groups.pop()
        self._in_text = False

    def handle_data(self, data):
        """Take a text of a drawing."""
        if self._figure and self._in_text and data.strip():
            self.texts[self._figure].append(data.strip())

"""Walk the built site: links, anchors, images, and its layout in headless Chromium.

Run as ``python -m tests.heavy.site SITE [--pictures FOLDER]`` after the site is built.
Each page is laid out at the widths of a phone and of a desk, in light and in dark; what
is wider than the window, an image that does not load, mathematics that are not set and
text that does not stand out are told. Chromium is Debian's: ``apt install chromium``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from tqdm import tqdm

WIDTHS = (390, 1280)
SCHEMES = ("light", "dark")
HEIGHT = 1600
CHROMIUM = ("chromium", "--headless", "--no-sandbox", "--disable-gpu")
PICTURED = (
    "index.html", "start/pandas.html", "start/shell.html", "choosing.html",
    "relevance.html", "gallery.html", "maths/trees.html", "maths/hdp.html",
    "performance.html", "canopy.html", "papers/discarding.html",
    "papers/cran_demos.html", "papers/companions.html", "api/index.html",
    "api/generated/dyntree.DynamicTree.html",
)  # fmt: skip

# lays pages out in a frame, one after another, and reports what it finds
FRAME = """<!doctype html><body style="margin:0">
<iframe id="f" style="border:0"></iframe>
<script>
const frame = document.getElementById('f'), found = [];
const told = (url, data) => fetch(url, {method: 'POST', body: JSON.stringify(data)});
const luminance = colour => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
  return (0.3 * r + 0.59 * g + 0.11 * b) / 255;
};
async function load(page, width) {
  frame.width = width; frame.height = HEIGHT;
  await new Promise(done => { frame.onload = done; frame.src = '/' + page; });
  const view = frame.contentWindow;
  if (view.MathJax && view.MathJax.startup) await view.MathJax.startup.promise;
  for (const image of view.document.images) {
    image.loading = 'eager';
    await image.decode().catch(() => {});
  }
}
function look(page, width, scheme) {
  const view = frame.contentWindow, page_ = view.document, root = page_.documentElement;
  page_.body.dataset.theme = scheme;
  const say = what => found.push(`${page} at ${width} px, ${scheme}: ${what}`);
  if (root.scrollWidth > root.clientWidth) say(`${root.scrollWidth} px wide`);
  const scrolls = one => one && one.tagName !== 'ARTICLE' && (
    /auto|scroll/.test(view.getComputedStyle(one).overflowX)
    || scrolls(one.parentElement));
  const wide = [...page_.querySelectorAll('article *')].find(one => {
    const box = one.getBoundingClientRect();
    return box.width > 1 && box.right > root.clientWidth + 1
      && !scrolls(one.parentElement);
  });
  if (wide) say(`out of the window: ${wide.outerHTML.slice(0, 120)}`);
  const text_only = page_.body.innerText.match(/<Figure size .*>/);
  if (text_only) say(`not shown: ${text_only[0]}`);
  for (const image of page_.images)
    if (!image.naturalWidth) say(`image ${image.src} does not load`);
  for (const sum of page_.querySelectorAll('.math'))
    if (!sum.querySelector('mjx-container') || sum.querySelector('mjx-merror'))
      say(`not set: ${sum.textContent.slice(0, 80)}`);
  const text = page_.querySelector('article p') || page_.body;
  const contrast = luminance(view.getComputedStyle(text).color)
    - luminance(view.getComputedStyle(page_.body).backgroundColor);
  if ((scheme === 'dark' ? contrast : -contrast) < 0.5) say('text does not stand out');
}
async function walk(pages) {
  for (const page of pages) {
    for (const width of WIDTHS) {
      await load(page, width);
      for (const scheme of SCHEMES) look(page, width, scheme);
    }
    await told('/-/page', page);
  }
  await told('/-/found', found);
}
const asked = new URLSearchParams(location.search);
if (asked.has('page')) {
  localStorage.setItem('theme', asked.get('scheme'));
  load(asked.get('page'), asked.get('width')).then(
    () => { frame.contentDocument.body.dataset.theme = asked.get('scheme'); });
} else fetch('/-/pages').then(one => one.json()).then(walk);
</script>"""


class Page(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def has(self, anchor: str) -> bool:
        """Whether a link to the anchor leads somewhere; one without any always does."""
        return not anchor or anchor in self.anchors

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep ids, links and sources."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif name == "src" or (name == "href" and tag in ("a", "link")):
                self.targets.append(value or "")


def broken(site: Path) -> Iterator[str]:
    """Yield links to files and anchors of the site that are not there."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            aim = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if aim.is_dir():
                aim /= "index.html"
            if not aim.is_file():
                yield f"{where}: no file {target}"
            elif aim in pages and not pages[aim].has(unquote(parts.fragment)):
                yield f"{where}: no anchor {target}"


class Server(ThreadingHTTPServer):
    """Serves the site, and the page that lays its pages out."""

    def __init__(self, site: Path, pages: list[str]) -> None:
        self.pages, self.done = pages, threading.Event()
        self.found: list[str] = []
        self.bar = tqdm(total=len(pages), unit="page", disable=None)
        super().__init__(("127.0.0.1", 0), partial(Handler, directory=str(site)))

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over what the browser no longer waited for, and nothing else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(SimpleHTTPRequestHandler):
    """Files of the site; what begins with /-/ belongs to the check."""

    server: Server

    def do_GET(self) -> None:
        """Answer with a file, the frame, or the names of the pages."""
        path = urlsplit(self.path).path
        if path == "/-/frame":
            values = {"HEIGHT": HEIGHT, "WIDTHS": WIDTHS, "SCHEMES": SCHEMES}
            text = FRAME
            for name, value in values.items():
                text = text.replace(name, json.dumps(value))
            self._answer("text/html", text)
        elif path == "/-/pages":
            self._answer("application/json", json.dumps(self.server.pages))
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """Take what the browser found."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/-/found":
            self.server.found += body
            self.server.done.set()
        else:
            self.server.bar.update()
        self._answer("text/plain", "")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def _answer(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def laid_out(server: Server, seconds: float) -> list[str]:
    """What is wrong with the layout of the pages; ends a browser that hangs."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        subprocess.Popen(
            [
                *CHROMIUM,
                f"--user-data-dir={profile}",
                "--remote-debugging-port=0",  # keeps it running until it is ended
                f"{server.address}/-/frame",
            ],
            stderr=subprocess.DEVNULL,
        ) as browser,
    ):
        finished = server.done.wait(seconds)
        browser.terminate()
        browser.wait()
    return server.found if finished else [f"no end after {seconds:.0f} s"]


def pictures(server: Server, folder: Path) -> None:
    """Take a picture of some pages at each width, in each scheme."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [page for page in PICTURED if page in server.pages]
    for page in tqdm(wanted, unit="page", disable=None):
        for width in WIDTHS:
            for scheme in SCHEMES:
                name = page.removesuffix(".html").replace("/", "-")
                query = f"page={quote(page)}&width={width}&scheme={scheme}"
                subprocess.run(
                    [
                        *CHROMIUM,
                        "--hide-scrollbars",
                        "--virtual-time-budget=20000",
                        f"--window-size={max(width, 500)},{HEIGHT}",
                        f"--screenshot={folder / f'{name}-{width}-{scheme}.png'}",
                        f"{server.address}/-/frame?{query}",
                    ],
                    check=True,
                    capture_output=True,
                )


def main() -> int:
    """Print what is wrong; the number of it is the exit status, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=1800.0, help="for all pages")
    given = parser.parse_args()
    site = given.site.resolve()
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    pages = [page for page in pages if not page.startswith("_static/")]
    if "index.html" not in pages:
        parser.error(f"{site} holds no index.html: build the site first")
    wrong = list(broken(site))
    server = Server(site, pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wrong += laid_out(server, given.seconds)
    server.bar.close()
    if given.pictures:
        pictures(server, given.pictures)
    server.shutdown()
    for line in wrong:
        print(line)
    print(f"{len(pages)} pages at {WIDTHS} px in {SCHEMES}: {len(wrong)} faults")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

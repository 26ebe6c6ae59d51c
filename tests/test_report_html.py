"""The HTML report: one file that asks for nothing, draws every lane, and is opened in a real Chromium where there is one."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import threading
from html.parser import HTMLParser

import pytest
from diagnoses import EVERY, unused_one, wide
from payloads import CORPUS, plant, plant_alone

from logsig.report import Options, formats

JENKINS = "sandbox allow-same-origin; default-src 'none'; img-src 'self'; style-src 'self';"
"""The policy under which Jenkins serves files of a build: no script, no inline style."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def of(diagnosis):
    return formats("html")["html"](diagnosis, Options())


@pytest.mark.parametrize("name", EVERY)
def test_page_asks_for_nothing_outside_itself(name):
    """No address but its own anchors and an empty icon; the policy forbids the rest."""
    page = of(EVERY[name]())
    assert set(re.findall(r'(?:href|src|action|data|poster)="([^"]*)"', page)) <= {"#help", "data:,"}
    assert "default-src 'none'" in page
    assert "@import" not in page
    assert "url(http" not in page


def test_policy_names_script_and_style_by_their_digests():
    """What the browser computes over the elements is what the policy allows."""
    import base64
    import hashlib

    page = of(unused_one())
    for element in ("style", "script"):
        text = re.search(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in page


def test_page_of_64_ranks_is_small():
    """Below 500 KB, as a mail or an artifact takes it."""
    assert len(of(wide(64)).encode()) < 500_000


def test_every_lane_is_drawn():
    """Each rank is on a lane, alone or with those that behave alike."""
    page = of(unused_one())
    assert re.findall(r'data-lane="([^"]*)"', page) == ["rank 0", "rank 1", "rank 2", "rank 3"]
    assert re.findall(r'data-lane="([^"]*)"', of(wide(1024))) == ["rank 513", "ranks 0-512,514-1023"]


def test_kinds_differ_by_shape():
    """Colour is never alone: the legend's signs have different outlines."""
    from logsig.report import drawing, templates

    source = templates.source("timeline.svg.j2")
    assert all(f'kind == "{kind}"' in source for kind in ("first", "failed", "collateral", "killed", "step"))
    assert set(drawing.LEGEND) == set(drawing.COLORS)


def test_elements_are_closed():
    """Every element that needs an end has one, in the right order."""
    for build in EVERY.values():
        checker = _Nesting()
        checker.feed(of(build()))
        assert checker.open == []


class _Nesting(HTMLParser):
    VOID = ("meta", "link", "br", "rect", "path")

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        del attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a page from disk and lists what it does that it shouldn't."""
    contexts = []

    def open_page(text, **options):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
        contexts.append(context)
        page, noise = context.new_page(), []
        page.on("console", lambda message: noise.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (noise.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: noise.append(request.url) if not request.url.startswith("file:") else None)
        page.goto(path.as_uri())
        return page, noise

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", EVERY)
def test_browser_has_nothing_to_complain_about(opened, name):
    """No console message, no request, the verdict as heading."""
    page, noise = opened(of(EVERY[name]()))
    assert noise == []
    assert page.locator("h1").count() == 1


def test_copy_buttons_copy(opened):
    """What is copied is what is shown."""
    page, noise = opened(of(unused_one()))
    page.locator(".code button").first.click()
    assert page.evaluate("navigator.clipboard.readText()") == unused_one().remedies[0].code
    page.get_by_role("button", name="Copy for an issue").click()
    assert page.evaluate("navigator.clipboard.readText()").startswith("### Rank 1 failed first")
    page.get_by_role("button", name="Copy JSON").click()
    assert '"schema": "logsig.diagnosis/1"' in page.evaluate("navigator.clipboard.readText()")
    assert noise == []


def test_keyboard_reaches_everything(opened):
    """The first stop jumps to the help; evidence opens by the keyboard."""
    page, _ = opened(of(unused_one()))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to what to do"
    closed = page.locator("details:not([open]) > summary").first
    closed.focus()
    page.keyboard.press("Enter")
    assert page.locator("details:not([open])").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_have_contrast(opened, scheme):
    """In light and dark every visible text stands out from the page by 4.5 to 1 at least."""
    page, _ = opened(of(unused_one()), color_scheme=scheme)
    ratios = page.evaluate(_CONTRAST)
    assert [each for each in ratios if each[0] < 4.5] == []


_CONTRAST = """() => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const color = getComputedStyle(node).backgroundColor;
      if (!color.endsWith(", 0)") && color !== "transparent") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const node of document.querySelectorAll("h1,h2,h3,p,li,td,th,dt,dd,code,pre,summary,button,mark,footer,b,span")) {
    if (!node.textContent.trim() || !node.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.tagName, node.textContent.slice(0, 30)]);
  }
  return found;
}"""


def test_narrow_screens_don_t_scroll_sideways(opened):
    """At 380 pixels the page itself fits; only code and tables scroll."""
    page, _ = opened(of(wide(64)), viewport={"width": 380, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_print_opens_the_folds(opened):
    """On paper nothing is folded."""
    page, _ = opened(of(unused_one()))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == 1


@pytest.mark.parametrize("put", [plant, plant_alone])
def test_hostile_logs_do_nothing(opened, put):
    """The whole corpus of payloads on one page: no script runs, nothing is asked for."""
    everything = " ".join(text for name, text in CORPUS.items() if name != "long")
    page, noise = opened(of(put(unused_one(), everything)))
    assert noise == []
    assert page.locator("h1").count() == 1
    assert page.locator("script").count() == 3
    assert page.locator("main img, main a, main iframe").count() == 0


@pytest.fixture
def under_policy(browser, tmp_path):
    """Serves a page as Jenkins does."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            self.send_header("Content-Security-Policy", JENKINS)
            super().end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def open_page(text):
        (tmp_path / "report.html").write_text(text, encoding="utf-8")
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/report.html")
        return page

    yield open_page
    server.shutdown()


def test_under_jenkins_policy_it_reads_and_draws(under_policy):
    """Without scripts and styles the texts stand, the lanes are drawn in their colours, and the folds open."""
    page = under_policy(of(unused_one()))
    assert page.locator("h1").inner_text().startswith("Rank 1 failed first")
    assert page.locator("svg g[data-lane]").count() == 4
    colors = page.evaluate("[...document.querySelectorAll('svg g[data-lane] rect')].map(r => getComputedStyle(r).fill)")
    assert "rgb(42, 120, 214)" in colors
    boxes = page.evaluate(
        "[...document.querySelectorAll('svg g[data-lane]')].map(g => g.getBoundingClientRect().width)"
    )
    assert min(boxes) > 100
    assert page.locator("button").count() == 0
    page.locator("details:not([open]) > summary").first.click()
    assert page.locator("details:not([open])").count() == 0

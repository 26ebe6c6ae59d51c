"""Hostile text in every format: one corpus of payloads, planted wherever a log or a file name can reach."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from diagnoses import EVERY, timeout, unused_one
from markdown_it import MarkdownIt
from payloads import CORPUS, plant, plant_alone

from logsig.report import Options, formats, inert

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)
RUNNER = re.compile(r"##\[|##vso\[|##teamcity\[")
OURS_SGR = re.compile(r"\x1b\[[0-9;]*m")
OURS_LINK = re.compile(r"\x1b\]8;;(?:file://[A-Za-z0-9._~%/-]*)?\x1b\\")
TOGETHER = "\n".join(text for name, text in CORPUS.items() if name != "long")
ALL = {**{name: (text, plant_alone) for name, text in CORPUS.items()}, "all-behind-text": (TOGETHER, plant)}


def whole():
    """A diagnosis with something in every field."""
    base, other = unused_one(), timeout()
    return replace(
        base,
        other_causes=(other.root_cause,),
        ledger=other.ledger,
        attempts=EVERY["recovered"]().attempts,
        unexplained=EVERY["unrecognised"]().unexplained,
        silent_ranks=(7,),
    )


@pytest.fixture(params=ALL, scope="module")
def hostile(request):
    """A diagnosis with the payload everywhere, and what each format makes of it."""
    text, put = ALL[request.param]
    return _Rendered(put(whole(), text))


class _Rendered(dict):
    """Renders a format when it is first asked for."""

    def __init__(self, diagnosis):
        self.diagnosis = diagnosis

    def __missing__(self, name):
        self[name] = formats(name)[name](self.diagnosis, Options())
        return self[name]


def test_no_format_shows_a_hidden_character(hostile):
    """No control, bidi, zero-width or surrogate character leaves in any format."""
    for name in formats():
        text = hostile[name]
        assert not HIDDEN.search(text), name
        text.encode("utf-8")


def test_no_format_commands_a_runner(hostile):
    """No line of any report is a workflow command of a CI."""
    for name in formats():
        text = hostile[name]
        assert not RUNNER.search(text), name
        assert name == "github" or not [line for line in text.splitlines() if line.lstrip().startswith("::")], name


def test_terminal_gets_only_our_own_sequences(hostile):
    """With colour and hyperlinks on, every escape is a colour or a file link of ours."""
    text = formats()["text"](hostile.diagnosis, Options(color=True, links=True))
    assert not HIDDEN.search(OURS_LINK.sub("", OURS_SGR.sub("", text)))


def test_ascii_terminal_gets_ascii(hostile):
    """Where the encoding is ASCII, so is the report."""
    assert formats()["text"](hostile.diagnosis, Options(ascii=True)).isascii()


def test_terminal_lines_keep_the_width(hostile):
    """No line is wider than the terminal but code, which is pasted, a place, which is clicked, and the last line."""
    from logsig.report.cells import width

    lines = hostile["text"].splitlines()
    wide = [line for line in lines[:-1] if width(line) > 80]
    assert [line for line in wide if not line.startswith("       ") and "-->" not in line] == []


def test_markdown_holds_no_markup_of_the_log(hostile):
    """Rendered, log text makes no link, no image, no HTML and no heading of its own."""
    rendered = MarkdownIt("commonmark").enable("table").render(hostile["markdown"])
    seen = _Tags()
    seen.feed(rendered)
    allowed = {
        "h3", "h4", "p", "strong", "code", "pre", "ul", "ol", "li", "details", "summary", "table", "thead", "tbody", "tr",
        "th", "td", "em",
    }  # fmt: skip
    assert set(seen.tags) <= allowed
    assert seen.tags.count("h3") == 1
    assert seen.tags.count("h4") <= 1
    assert seen.tags.count("details") == seen.ends.count("details")
    assert not re.search(r"(?<![\w`>])@octocat", re.sub(r"<code.*?</code>", "", rendered, flags=re.DOTALL))


def test_html_holds_no_element_of_the_log(hostile):
    """The page has exactly the elements that it has with a harmless log, and no event handler or outside address."""
    seen, plain = _Tags(), _Tags()
    seen.feed(hostile["html"])
    plain.feed(formats()["html"](whole(), Options()))
    assert set(seen.tags) <= set(plain.tags)
    assert seen.tags.count("script") == 3
    assert not [name for name, _ in seen.attributes if name.startswith("on") or name == "style"]
    assert {value for name, value in seen.attributes if name in ("href", "src", "xlink:href", "action")} <= {
        "#help",
        "data:,",
    }


def test_html_data_is_the_contract(hostile):
    """The JSON inside the page can be read back and closes no script."""
    page = hostile["html"]
    found = re.search(r'<script type="application/json" id="diagnosis">(.*?)</script>', page, re.DOTALL)
    assert json.loads(found[1])["schema"] == "logsig.diagnosis/1"


def test_json_formats_can_be_read(hostile):
    """Each JSON format is JSON for a strict reader."""
    for name in ("json", "jsonl", "gitlab", "sarif"):
        json.loads(hostile[name].encode("utf-8").decode("utf-8"))


def test_json_keeps_the_text():
    """What JSON shows escaped reads back as the very text of the log, but for lone surrogates."""
    for name, payload in CORPUS.items():
        text = payload[:3000]
        base = unused_one()
        cause = replace(base.root_cause, evidence=(replace(base.root_cause.evidence[0], text=text, match=None),))
        document = json.loads(formats()["json"](replace(base, root_cause=cause), Options()))
        assert document["root_cause"]["evidence"][0]["text"] == inert.no_surrogates(text), name


def test_xml_can_be_read(hostile):
    """JUnit's XML is well-formed XML 1.0 without a document type."""
    text = hostile["junit"]
    assert "<!DOCTYPE" not in text
    suites = ET.fromstring(text)
    assert suites.tag == "testsuites"


def test_github_obeys_only_our_commands(hostile):
    """A runner that reads the output sees our commands and nothing else; quoted lines stand between the marks."""
    stopped = None
    for line in hostile["github"].splitlines():
        found = re.match(r"\s*::([a-z-]+)(?: ([^:]*))?::(.*)$", line)
        if stopped:
            if line == f"::{stopped}::":
                stopped = None
            continue
        assert found, line
        assert found[1] in ("error", "warning", "notice", "group", "endgroup", "stop-commands")
        assert "\r" not in line
        stopped = found[3] if found[1] == "stop-commands" else None
    assert stopped is None


def test_gcc_lines_are_lines(hostile):
    """Every line has the form that editors' problem matchers read."""
    matcher = re.compile(r"^(.+?):(\d+):(\d+): (error|warning|note): (.*?)(?: \[([A-Za-z0-9_.-]+)\])?$")
    for line in hostile["gcc"].splitlines():
        assert matcher.match(line), line


def test_termination_message_keeps_its_limit(hostile):
    """At most 4,000 bytes, the verdict in the first line."""
    text = hostile["k8s"]
    assert len(text.encode()) <= 4000
    assert text.strip()


def test_jinja_in_a_log_stays_text():
    """Text of a log is never taken for a template."""
    text = formats()["text"](plant(unused_one(), CORPUS["jinja"]), Options(width=120))
    assert "{{ 7 * 7 }}" in text
    assert "49" not in text


@pytest.mark.parametrize("payload", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1"])
def test_csv_cell_is_no_formula(payload):
    """No cell begins with what a spreadsheet takes for a formula."""
    assert inert.csv_cell(payload)[:1] not in ("=", "+", "-", "@", "\t", "\r")


def test_escapes_are_shown_not_dropped():
    """A reader sees what was hidden."""
    assert inert.line("a\u202eb\x00c\udcffd\u200be") == "a\\u202eb\\x00c\\xffd\\u200be"


def test_colour_of_a_log_is_dropped():
    """Well-formed terminal sequences carry no meaning: they go without a trace."""
    assert inert.line("\x1b[31mred\x1b[0m \x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\") == "red link"


class _Tags(HTMLParser):
    """Lists elements and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ends: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        self.ends.append(tag)

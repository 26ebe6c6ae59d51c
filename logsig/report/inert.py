"""Makes text of a log, or a name of a file, harmless where it is shown. The one place that knows how.

Takes any string; gives one that no terminal, browser, spreadsheet, XML reader, Markdown renderer or CI runner acts on,
and that still shows what was there. Each report cleans the whole diagnosis first (``clean``) and escapes for its own
syntax after that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from logsig.late import late

if TYPE_CHECKING:
    from logsig.model import Evidence

T = TypeVar("T")

# Colour, cursor and title sequences mean nothing to a reader: they go. What is left of an odd one is shown escaped.
_SEQUENCE = late(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,512}(?:\x07|\x1b\\|\x9c)"  # OSC: title, hyperlink, clipboard
    r"|\x1b[()*+][0-9A-Za-z]"  # character sets
)
# Controls (C0, DEL, C1), soft hyphen and joiners, bidi marks, embeddings and isolates, zero-width and invisible
# letters, line and paragraph separators, byte-order mark, annotations and non-characters, tags, lone surrogates.
_HIDDEN = late(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)
# Azure, GitHub (old form) and TeamCity act on these anywhere in a line; GitHub on ``::name`` at the start of one.
_RUNNER = late(r"##(?=\[|vso\[|teamcity\[)", re.IGNORECASE)
_COMMAND = late(r"^(\s*):(?=:)", re.MULTILINE)


def line(text: str) -> str:
    """Gives the text on one line: sequences gone, hidden characters and line ends shown as escapes."""
    if text.isascii() and text.isprintable() and "##" not in text:
        return text
    return block(text).replace("\n", "\\n")


def block(text: str) -> str:
    """Gives the text with its line ends, each line harmless."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    if "\x1b" in text or "\x9b" in text or "\x9d" in text:
        text = _SEQUENCE.sub("", text)
    return _RUNNER.sub("# #", _HIDDEN.sub(_show, text))


def document(text: str) -> str:
    """Guards a whole plain-text report: no line of it is a command to a CI runner, however it was laid out."""
    return _RUNNER.sub("# #", _COMMAND.sub(r"\1: ", text))


_PROSE = frozenset(("code", "steps", "summary", "because", "doubts", "confirm", "next_time", "cost", "verify", "title"))
"""Fields that may have several lines; all others are names, places and values, and stay on one."""


def clean(value: T) -> T:
    """Gives the same value with every string inside it harmless: dataclasses, tuples and mappings are followed."""
    cleaned: Any = _clean(value, line)
    return cleaned  # type: ignore[no-any-return]


def _clean(value: Any, way: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return way(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, tuple | list):
        return type(value)(_clean(item, way) for item in value)
    if isinstance(value, Mapping):
        return MappingProxyType({line(str(key)): _clean(item, line) for key, item in value.items()})
    if is_dataclass(value) and not isinstance(value, type):
        if type(value).__name__ == "Evidence":
            return _clean_evidence(value)  # type: ignore[arg-type]
        old = {each.name: getattr(value, each.name) for each in fields(value)}
        new = {name: _clean(item, block if name in _PROSE else line) for name, item in old.items()}
        return value if all(new[name] is item for name, item in old.items()) else replace(value, **new)
    return value


def _clean_evidence(evidence: Evidence) -> Evidence:
    """Cleans a quoted line and moves the span of its match along with it."""
    text, span = line(evidence.text), None
    if evidence.match:
        start, end = evidence.match
        head, body, tail = (
            line(part) for part in (evidence.text[:start], evidence.text[start:end], evidence.text[end:])
        )
        text, span = head + body + tail, (len(head), len(head) + len(body))
    return replace(
        evidence,
        source=_clean(evidence.source, line),
        text=text,
        match=span,
        node=_clean(evidence.node, line),
        time=_clean(evidence.time, line),
        context=tuple((number, line(raw)) for number, raw in evidence.context),
    )


def _show(found: re.Match[str]) -> str:
    """Shows a hidden character as Python would write it; an undecodable byte as that byte."""
    code = ord(found.group())
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# ---------------------------------------------------------------- Markdown

_MARKED = late(r"[\\`*\[\]<|~$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^(?:[-+#>=]|\d+(?=[.)]))")
_CODE = r"`[^`]+`"
_LIVE = late(_CODE + r"|[^\s`]*(?:@|://|\bwww\.)[^\s`]*|(?<!\w)(?:GH-|#|!)\d+\b", re.IGNORECASE)
"""Code between backticks, and words that a forge would turn into a link or a notification: both become code spans."""


def markdown(text: str, in_table: bool = False) -> str:
    """Gives a sentence as Markdown text: nothing in it but code is markup, no link, no image, no HTML, no mention."""
    text, out, end = line(text), "", 0
    for found in _LIVE.finditer(text):
        out = _join(out, _escape(text[end : found.start()], at_start=end == 0))
        out = _join(out, code_span(found.group().strip("`"), in_table))
        end = found.end()
    return _join(out, _escape(text[end:], at_start=end == 0))


def _join(left: str, right: str) -> str:
    """Keeps two runs of backticks from becoming one."""
    return f"{left} {right}" if left.endswith("`") and right.startswith("`") else left + right


def _escape(text: str, at_start: bool) -> str:
    lead = "" if at_start else " "  # keeps the marks that count at a line's start from counting
    return _MARKED.sub(_backslash, f"{lead}{text}")[len(lead) :].replace("&", "&amp;")


def _backslash(found: re.Match[str]) -> str:
    """Escapes a mark; of ``1.`` the point, because a digit can't be escaped."""
    mark = found.group()
    return f"{mark}\\" if mark[0].isdigit() else f"\\{mark}"


def code_span(text: str, in_table: bool = False) -> str:
    """Gives text as Markdown code on one line, whatever backticks it holds."""
    text = line(text).strip(" ")
    if not text:
        return ""
    ticks = "`" * (longest_run(text, "`") + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" else ""
    return f"{ticks}{pad}{text.replace('|', chr(92) + '|') if in_table else text}{pad}{ticks}"


def fence(text: str, language: str = "text") -> str:
    """Gives text as a fenced Markdown block that nothing inside can close."""
    ticks = "`" * max(3, longest_run(text, "`") + 1)
    return f"{ticks}{language}\n{document(block(text))}\n{ticks}"


def longest_run(text: str, character: str) -> int:
    """Gives the length of the longest run of one character."""
    return max((len(run) for run in re.findall(re.escape(character) + "+", text)), default=0)


# ---------------------------------------------------------------- machines' formats


def csv_cell(text: str) -> str:
    """Gives a cell that no spreadsheet takes for a formula."""
    text = line(text)
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "|", "%") else text


def xml(text: str) -> str:
    """Gives text for XML 1.0 or HTML, attribute or content."""
    text = block(text)
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        text = text.replace(sign, entity)
    return text


def workflow_message(text: str) -> str:
    """Gives the message of a GitHub workflow command."""
    return block(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def workflow_property(text: str) -> str:
    """Gives a property value of a GitHub workflow command."""
    return workflow_message(line(text)).replace(":", "%3A").replace(",", "%2C")


def json_text(encoded: str) -> str:
    """Gives encoded JSON whose strings show nothing hidden and name no runner's command; the values stay the same."""
    encoded = _RUNNER.sub(r"\\u0023#", encoded)
    return _HIDDEN_IN_JSON.sub(lambda found: _json_escape(ord(found.group())), encoded)


_HIDDEN_IN_JSON = late(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


def _json_escape(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def no_surrogates(text: str) -> str:
    """Shows lone surrogates (undecodable bytes) as escapes: no UTF-8 and no strict reader of JSON takes them."""
    return re.sub("[\ud800-\udfff]", _show, text)

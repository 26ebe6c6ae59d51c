"""Text that a log or a file name can hold to harm whoever shows it. One corpus for every report format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

CORPUS = {
    "colour": "\x1b[31mred\x1b[0m",
    "cursor": "\x1b[2J\x1b[1;1Hgone",
    "c1-csi": "\x9b31mred",
    "title": "\x1b]0;owned\x07",
    "osc8": "\x1b]8;;https://evil.example/\x1b\\click\x1b]8;;\x1b\\",
    "osc52": "\x1b]52;c;cm0gLXJmIC8=\x07",
    "osc-open": "\x1b]8;;https://evil.example/ never closed",
    "c1-osc": "\x9d52;c;cm0=\x9c",
    "bell-and-back": "\x07\x08\x08\x08\x7f",
    "carriage-return": "fine\rFAKE",
    "next-line": "a\x85b\x0bc\x0cd",
    "null": "a\x00b",
    "bidi": "\u202egnp.exe\u202c \u2066x\u2069 \u200f",
    "zero-width": "pass\u200bword\u2060\ufeff\u00ad",
    "tags": "x\U000e0041\U000e007f",
    "separators": "a\u2028b\u2029c",
    "surrogate": "\udcff\udc80 \ud800",
    "github": "\n::error file=a,line=1::pwned",
    "github-start": "::set-output name=x::y",
    "github-env": "\n::add-path::/tmp/evil\n::save-state name=a::b",
    "github-old": "##[error]pwned ##[set-env name=A]b",
    "github-stop": "::stop-commands::x\n::endgroup::",
    "azure": "##vso[task.setvariable variable=a]b",
    "teamcity": "##teamcity[buildStop comment='x']",
    "gitlab-section": "\x1b[0Ksection_start:1:x[collapsed=true]\r\x1b[0Khidden",
    "buildkite": "\n--- folded\n+++ open",
    "script": "<script>alert(1)</script>",
    "script-end": "</script><script>alert(1)</script>",
    "image": "<img src=x onerror=alert(1)>",
    "attribute": "\"' onmouseover=alert(1) x='",
    "comment": "<!-- <b> --> ]]> <![CDATA[",
    "svg": "</text><svg onload=alert(1)><a href='javascript:alert(1)'>x</a>",
    "style": "</style><style>*{display:none}</style>",
    "details": "</details></summary></pre><h1>free</h1>",
    "entities": "&lt;script&gt; &amp;#60; &#x3c;b&#x3e;",
    "markdown-link": "[click](https://evil.example) ![x](https://evil.example/x.png) <https://evil.example>",
    "markdown-reference": "[a]: https://evil.example\n[a] [b][a]",
    "markdown-bare": "https://evil.example/x www.evil.example user@evil.example",
    "mention": "@octocat #1234 GH-12 !12",
    "markdown-marks": "**bold** _it_ ~~gone~~ `code` # head\n# head\n> quote\n- list\n1. one\n---\n| a | b |",
    "fence": "```\n``` `` ` ````\n~~~",
    "table": "a | b \\| c \\",
    "jinja": "{{ 7 * 7 }} {% for x in y %} {# gone #} {{ ''.__class__.__mro__ }}",
    "format": "%s %n %(x)s {0} {} ${HOME} $(id) `id`",
    "formula": "=cmd|'/c calc'!A1",
    "formula-plus": "+1+1 @SUM(1) -2",
    "xml": "\ufffe\uffff\x01\x1f",
    "entity-bomb": '<!DOCTYPE x [<!ENTITY a "b">]>&a;',
    "sarif-link": "[x](0) {0} {1}",
    "percent": "%0A::error::x%25%0D",
    "wide": "日本語のログ 한글 🙂 e\u0301",
    "long": "A" * 5000,
    "blank": "   ",
}

FIXED = {
    "signature", "family", "severity", "confidence", "retryable", "outcome", "rank_confidence", "grade", "scope", "state",
    "kind", "unit",
}  # fmt: skip
"""Fields whose words come from closed lists or from the library, never from a log."""


def plant(value: Any, payload: str) -> Any:
    """Puts the payload into every text of a diagnosis that a log or a file name can reach."""
    if isinstance(value, str):
        return f"{value} {payload}"
    if isinstance(value, tuple | list):
        return type(value)(plant(item, payload) for item in value)
    if isinstance(value, Mapping):
        return {key: plant(item, payload) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: plant(getattr(value, f.name), payload) for f in fields(value) if f.name not in FIXED}
        return replace(value, **changed)
    return value


def plant_alone(value: Any, payload: str) -> Any:
    """Puts the payload in the place of every such text, so that it also stands at the start of a line."""
    if isinstance(value, str):
        return payload
    if isinstance(value, tuple | list):
        return type(value)(plant_alone(item, payload) for item in value)
    if isinstance(value, Mapping):
        return {key: plant_alone(item, payload) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: plant_alone(getattr(value, f.name), payload) for f in fields(value) if f.name not in FIXED}
        return replace(value, **changed)
    return value

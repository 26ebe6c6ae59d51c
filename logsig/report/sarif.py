"""SARIF 2.1.0: a result per cause that lands on the project's own code, the log's lines as related locations.

Code scanning shows a result only at a place inside the repository: the user's frame of the traceback where it is found
in the checkout, else the log itself. Paths are relative to the checkout and percent-encoded.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from logsig._version import __version__
from logsig.report import DEFAULT, Options, checkout, inert, wording
from logsig.report.fingerprint import fingerprint
from logsig.report.page import Page, causes_of, page

if TYPE_CHECKING:
    from logsig.model import Cause, Diagnosis, Evidence

SHAREABLE = True
"""Goes to others: secrets are masked unless the caller says otherwise."""

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LONGEST = 1000
"""Characters of a rule's descriptions; code scanning takes 1,024."""
MOST_RELATED = 50
_LEVEL = {"fatal": "error", "error": "error", "notice": "note"}
_PRECISION = {"high": "very-high", "medium": "medium", "low": "low"}


def render(diagnosis: Diagnosis, options: Options = DEFAULT) -> str:
    """Gives a log of one run."""
    shown = page(diagnosis)
    found = shown.diagnosis
    causes = causes_of(found)
    rules = {cause.signature: _rule(cause, shown, index == 0) for index, cause in enumerate(causes)}
    results = []
    for index, cause in enumerate(causes):
        spot = checkout.spot(cause, options.root) or checkout.log_spot(cause, options.root)
        text = shown.verdict if index == 0 else cause.summary
        results.append(_result(cause, text, spot, list(rules).index(cause.signature), options.root))
    driver = {"name": "logsig", "semanticVersion": __version__, "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "logsig/"},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return inert.json_text(json.dumps(log, indent=2, ensure_ascii=options.ascii)) + "\n"


def _rule(cause: Cause, shown: Page, is_root: bool) -> dict[str, Any]:
    help_text = "\n".join(_help(shown)) if is_root and shown.remedies else f"logsig explain {cause.signature}"
    name = "".join(part.capitalize() for part in cause.signature.split("-"))[:255]
    return {
        "id": cause.signature,
        **({"name": name} if name.lower() != cause.signature else {}),
        "shortDescription": {"text": _some(cause.title)},
        "fullDescription": {"text": _some(cause.title)},
        "help": {"text": help_text, "markdown": inert.document(_help_markdown(shown) if is_root else help_text)},
        "properties": {
            "tags": ["distributed-training", cause.family],
            "precision": _PRECISION[cause.confidence],
            "problem.severity": "error" if cause.severity in ("fatal", "error") else "warning",
        },
    }


def _help(shown: Page) -> list[str]:
    lines = []
    for remedy in shown.remedies:
        lines += [remedy.title, *(f"{number}. {step}" for number, step in enumerate(remedy.steps, start=1))]
        lines += [remedy.code] if remedy.code else []
    return lines


def _help_markdown(shown: Page) -> str:
    lines = []
    for remedy in shown.remedies:
        steps = [f"{number}. {inert.markdown(step)}" for number, step in enumerate(remedy.steps, start=1)]
        lines += [f"**{inert.markdown(remedy.title)}**", "", *steps, ""]
        lines += [inert.fence(remedy.code), ""] if remedy.code else []
    return "\n".join(lines).strip() or "See the message."


def _result(cause: Cause, text: str, spot: checkout.Spot | None, rule: int, root: str) -> dict[str, Any]:
    related = [
        {"id": number, "message": {"text": _some(each.text)}, **_log_location(each, root)}
        for number, each in enumerate(cause.evidence[:MOST_RELATED], start=1)
    ]
    in_log = [_log_location(each, root) for each in cause.evidence[:1]]
    return {
        "ruleId": cause.signature,
        "ruleIndex": rule,
        "level": _LEVEL.get(cause.severity, "warning"),
        "message": {"text": _some(text)},
        "locations": [_location(spot.path, spot.line)] if spot else in_log,
        "partialFingerprints": {"primaryLocationLineHash": f"{fingerprint(cause, spot.path if spot else None)[:16]}:1"},
        **({"relatedLocations": related} if related else {}),
    }


def _location(path: str, line: int, column: int = 1) -> dict[str, Any]:
    region = {"startLine": line, "startColumn": column}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region}}


def _log_location(evidence: Evidence, root: str) -> dict[str, Any]:
    column = evidence.match[0] + 1 if evidence.match else 1
    relative = checkout.relative(evidence.source.path, root)
    return _location(relative or os.path.basename(evidence.source.path) or "log", evidence.source.line, column)


def _uri(path: str) -> str:
    return quote(path.encode("utf-8", "backslashreplace"), safe="/")


def _some(text: str) -> str:
    """Gives message text: never empty, no embedded link, no placeholder."""
    text = inert.line(text).replace("](", "] (")
    return wording.cut(re.sub(r"\{(\d+)\}", r"{ \1 }", text), LONGEST) or "-"

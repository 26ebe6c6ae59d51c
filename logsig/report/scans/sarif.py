"""SARIF 2.1.0 for the whole scan: a rule per signature, a result per failed job, at its line of the log."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from logsig._version import __version__
from logsig.report import Options, checkout, inert, wording
from logsig.report.scans import Result

if TYPE_CHECKING:
    from logsig.batch.model import Group, Row

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LONGEST = 1000
MOST = 25_000
"""Results that code scanning takes in a run."""
UNKNOWN = "unrecognised-failure"
_LEVEL = {"fatal": "error", "error": "error", "notice": "note"}


def write(result: Result, options: Options) -> Iterator[str]:
    """Gives the log of one run, piece by piece."""
    rules = _rules(result.verdict.groups)
    order = list(rules)
    driver = {"name": "logsig", "semanticVersion": __version__, "rules": list(rules.values())}
    left = max(0, sum(group.count for group in result.verdict.groups) - MOST)
    told = [{"level": "warning", "message": {"text": f"{left:,} further failures are not listed"}}] if left else []
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "logsig-scan/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": told}],
    }
    head = _json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
    yield head.removesuffix("}]}") + ', "results": ['
    written = 0
    for row in result.rows:
        if row.group is not None and written < MOST:
            yield (",\n" if written else "\n") + _json(_result(row, order, options.root))
            written += 1
    yield "\n]}]}\n"


def _json(value: Any) -> str:
    return inert.json_text(json.dumps(value))


def _rules(groups: tuple[Group, ...]) -> dict[str, dict[str, Any]]:
    rules: dict[str, dict[str, Any]] = {}
    for group in groups:
        name = group.signature or UNKNOWN
        title = group.title if group.signature else "A failure that no signature knows"
        rules.setdefault(
            name,
            {
                "id": name,
                "name": "".join(part.capitalize() for part in name.split("-")),
                "shortDescription": {"text": _some(title)},
                "fullDescription": {"text": _some(title)},
                "help": {"text": _some(group.remedy or f"logsig explain {name}")},
                "properties": {
                    "tags": ["distributed-training", group.example.family or "unknown"],
                    "problem.severity": "error" if group.severity in ("fatal", "error", None) else "warning",
                },
            },
        )
    return rules


def _result(row: Row, order: list[str], root: str) -> dict[str, Any]:
    name = row.known or UNKNOWN
    path = row.evidence_file or (row.files[0] if row.files else row.job)
    uri = checkout.relative(path.partition("!/")[0], root) or os.path.basename(path) or "log"
    region = {"startLine": max(row.evidence_line or 1, 1), "startColumn": 1}
    return {
        "ruleId": name,
        "ruleIndex": order.index(name),
        "level": _LEVEL.get(row.severity or "error", "warning"),
        "message": {"text": _some(f"{row.summary or row.template or row.outcome} (job {row.job})")},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(uri.encode("utf-8", "backslashreplace"), safe="/")},
                    "region": region,
                }
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": f"{row.group}:1"},
        "properties": {"job": inert.no_surrogates(row.job), "group": row.group},
    }


def _some(text: str) -> str:
    """Gives message text: never empty, no embedded link, no placeholder."""
    text = inert.line(text).replace("](", "] (")
    return wording.cut(re.sub(r"\{(\d+)\}", r"{ \1 }", text), LONGEST) or "-"

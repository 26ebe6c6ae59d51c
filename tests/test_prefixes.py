"""Every prefix file proves itself: its examples peel as it says, its counterexamples don't."""

from __future__ import annotations

from typing import Any

import pytest

from logsig import dialects
from logsig.dialects import Example, Prefix
from logsig.lines import read
from logsig.model import Excerpt, LogLine, Origin
from logsig.prefix import Prefixes

PREFIXES = Prefixes(dialects.read())


def read_log(log: str) -> tuple[LogLine, ...]:
    data = log if log.endswith("\n") else log + "\n"
    return read([Excerpt(Origin("x.log"), 1, 0, data.encode(), "head")], PREFIXES).lines


def facts(line: LogLine) -> dict[str, Any]:
    names = ("rank", "local_rank", "node", "node_rank", "task", "pid", "device", "attempt", "stream", "level")
    found = {name: getattr(line, name) for name in names if getattr(line, name) is not None}
    return found | ({"time": line.stamp.text} if line.stamp else {})


def cases(which: str) -> list[Any]:
    return [
        pytest.param(prefix, example, id=f"{prefix.name}-{number}")
        for prefix in PREFIXES.all
        for number, example in enumerate(getattr(prefix, which), 1)
    ]


@pytest.mark.parametrize(("prefix", "example"), cases("examples"))
def test_example(prefix: Prefix, example: Example) -> None:
    last = read_log(example.log)[-1]
    expected = {key: value for key, value in example.fields.items() if key != "repeated"}
    assert prefix.name in last.layers
    assert facts(last) == expected
    assert last.text == example.text


@pytest.mark.parametrize(("prefix", "example"), cases("counterexamples"))
def test_counterexample(prefix: Prefix, example: Example) -> None:
    assert example.why
    assert all(prefix.name not in line.layers for line in read_log(example.log))

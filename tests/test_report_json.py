"""The JSON contract, version 1."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from diagnoses import EVERY, unused_one, wide

from logsig.report import Options, formats
from logsig.report.json_v1 import LONGEST_TEXT, document, schema

PUBLISHED = Path(__file__).parent.parent / "docs" / "diagnosis.schema.json"
FIELDS = [
    "schema", "tool", "job", "outcome", "root_cause", "other_causes", "first_failing_rank", "rank_confidence", "grade",
    "first_failing_node", "scope", "candidates", "because", "ranks", "collateral", "silent_ranks", "ledger", "attempts",
    "remedies", "confirm", "next_time", "doubts", "unexplained", "verdict",
]  # fmt: skip


def test_published_schema_is_that_of_the_types():
    """``docs/diagnosis.schema.json`` equals what the types say; UPDATE_GOLDEN=1 rewrites it."""
    text = json.dumps(schema(), indent=2) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        PUBLISHED.write_text(text, encoding="utf-8")
    assert PUBLISHED.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", EVERY)
def test_every_diagnosis_fits_the_published_schema(name):
    """Whatever the outcome, the document validates, and it has every field of the contract and no other."""
    found = json.loads(formats()["json"](EVERY[name](), Options()))
    jsonschema.validate(found, json.loads(PUBLISHED.read_text(encoding="utf-8")))
    assert list(found) == FIELDS


def test_fields_of_a_failure():
    """The values stand where the contract says."""
    found = document(unused_one())
    assert found["schema"] == "logsig.diagnosis/1"
    assert found["outcome"] == "failure"
    assert found["root_cause"]["signature"] == "ddp-reduction-not-finished"
    assert found["root_cause"]["facts"]["param_names"] == ["aux_head.bias", "aux_head.weight"]
    assert found["root_cause"]["evidence"][0]["file"] == "train.log"
    assert found["root_cause"]["evidence"][0]["line"] == 31
    assert (found["first_failing_rank"], found["rank_confidence"], found["grade"]) == (1, "high", "A")
    assert found["ranks"][1]["state"] == "first"
    assert found["collateral"][0] == {
        "signature": "gloo-peer-closed",
        "ranks": [0, 2],
        "count": 2,
        "first": {"file": "train.log", "line": 55},
    }


def test_line_form_is_one_line():
    """``jsonl`` is the same document on one line."""
    text = formats()["jsonl"](unused_one(), Options())
    assert text.count("\n") == 1
    assert json.loads(text) == json.loads(formats()["json"](unused_one(), Options()))


def test_ascii_where_the_place_demands_it():
    """Where only ASCII can be shown, JSON is ASCII and says the same."""
    base = replace(unused_one(), doubts=("ログ",))
    text = formats()["json"](base, Options(ascii=True))
    assert text.isascii()
    assert json.loads(text)["doubts"] == ["ログ"]


def test_a_line_of_megabytes_is_cut_around_the_match():
    """Evidence keeps what surrounds the match."""
    base = unused_one()
    text = "x" * 1_000_000 + "HERE" + "y" * 1_000_000
    evidence = replace(base.root_cause.evidence[0], text=text, match=(1_000_000, 1_000_004))
    found = document(replace(base, root_cause=replace(base.root_cause, evidence=(evidence,))))
    shown = found["root_cause"]["evidence"][0]["text"]
    assert "HERE" in shown
    assert len(shown) <= LONGEST_TEXT + 2


def test_odd_facts_become_json():
    """Infinities, sets and bytes among the facts don't break a strict reader."""
    base = unused_one()
    facts = {"loss": float("nan"), "ranks": {2, 1}, "path": b"x", "nested": {"a": (1, 2)}}
    text = formats()["json"](replace(base, root_cause=replace(base.root_cause, facts=facts)), Options())
    found = json.loads(text, parse_constant=pytest.fail)["root_cause"]["facts"]
    assert found == {"loss": "nan", "ranks": [1, 2], "path": "b'x'", "nested": {"a": [1, 2]}}


def test_same_diagnosis_same_bytes():
    """Rendering is deterministic."""
    assert formats()["json"](wide(64), Options()) == formats()["json"](wide(64), Options())

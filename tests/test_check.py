"""The checker: every refusal with its place, what was found, what was expected and a hint."""

from __future__ import annotations

from pathlib import Path

import packs
import pytest
from click.testing import CliRunner

import logsig
from logsig import check
from logsig.commands.signatures import command

LINE = check.Line(logsig.match_text, logsig.analyze_text)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check packs without the library beside them, and without the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(check, "_library_packs", list)


def told(folder: Path, line: check.Line | None = None) -> list[str]:
    report = check.check(folder, line)
    return [str(fault).replace(f"{folder}/host/cat-on-keyboard.yaml", "cat") for fault in report.faults]


def test_a_good_pack_has_no_fault(tmp_path: Path) -> None:
    assert check.check(packs.write(tmp_path / "pack"), LINE) == check.Report(1, 2, ())


REFUSALS = {
    "unknown-key": (
        ("tags: ", "tag: "),
        "cat:9: tag: found the unknown key tag, expected one of schema, id, title, family, role, severity, points_at, since, "
        "versions, tags, summary, explanation, match, captures, explains, remedies, confirm, guide, references, retryable, "
        "proof, harmless, examples, counterexamples (hint: did you mean tags?)",
    ),
    "unknown-key-inside": (
        ("  - title: Close", "  - titel: x\n    title: Close"),
        "cat:19: remedies[0].titel: found the unknown key titel, expected one of title, when, steps, code, cost, verify, "
        "source (hint: did you mean title?)",
    ),
    "missing-field": (
        ("    why: it lies beside it\n", ""),
        "cat:34: counterexamples[0].why: found nothing, expected this field "
        "(hint: say in a few words what differs from the real thing)",
    ),
    "unknown-word": (
        ("severity: fatal", "severity: fatall"),
        "cat:6: severity: found \"fatall\", expected one of 'fatal', 'error' or 'notice' (hint: did you mean fatal?)",
    ),
    "number-for-text": (
        ("since: 0.1.0", "since: 0.1"),
        "cat:7: since: found 0.1, expected text (hint: put it in quotes)",
    ),
    "mapping-for-text": (
        ("verify: The door", "verify: {The: door}\n    cost: The door"),
        'cat:22: remedies[0].verify: found {"The": "door"}, expected text '
        "(hint: put it in quotes: it holds ': ' or begins with {)",
    ),
    "list-for-text": (
        ("verify: The door is closed.", "verify: [closed]"),
        'cat:22: remedies[0].verify: found ["closed"], expected text (hint: put it in quotes: it begins with [)',
    ),
    "no-version": (("since: 0.1.0", "since: soon"), "cat:7: since: found 'soon', expected a version such as '0.1.0'"),
    "file-name": (
        ("id: cat-on-keyboard", "id: cat-on-table"),
        "cat:2: id: found 'cat-on-table', expected 'cat-on-keyboard' (hint: the id is the file's name without .yaml)",
    ),
    "folder-name": (
        ("family: host", "family: gpu"),
        "cat:4: family: found 'gpu', expected 'host' (hint: the family is the name of the folder)",
    ),
    "no-literal": (
        ("  literals: ['cat on keyboard']\n", ""),
        "cat:13: match: found no literals, expected at least one literal, or derived "
        "(hint: a piece of the message that stands in every wording)",
    ),
    "short-literal": (
        ("['cat on keyboard']", "[cat]"),
        'cat:14: match.literals[0]: found "cat", expected at least 4 characters '
        "(hint: a shorter literal fires everywhere; take more of the message)",
    ),
    "literal-twice": (
        ("['cat on keyboard']", "['cat on keyboard', 'cat on keyboard']"),
        "cat:14: match.literals[1]: found 'cat on keyboard' a second time, expected every literal once",
    ),
    "literal-of-two-lines": (
        ("['cat on keyboard']", "['cat on keyboard', \"a\\nline\"]"),
        "cat:14: match.literals[1]: found a literal with a newline, expected a piece of one line "
        "(hint: continuation lines belong to the pattern)",
    ),
    "bad-pattern": (
        ("key (?P<key>", "key ((?P<key>"),
        "cat:15: match.pattern: found a pattern that doesn't compile: missing ) at position 39, "
        "expected a pattern of the regex module",
    ),
    "undeclared-group": (
        ("captures:\n  key: the key it stood on\n", ""),
        "cat:15: match.pattern: found the undeclared group key, expected every named group under captures "
        "(hint: add captures: {key: …})",
    ),
    "unknown-capture": (
        ("  key: the key", "  keyy: the other\n  key: the key"),
        "cat:17: captures.keyy: found the unknown capture keyy, expected a name of the closed list (hint: did you mean key?)",
    ),
    "capture-in-no-pattern": (
        ("  key: the key", "  host: the other\n  key: the key"),
        "cat:17: captures.host: found host in no pattern, expected a group (?P<host>…) "
        "(hint: remove the line or capture it)",
    ),
    "group-in-unless": (
        ("captures:\n", "  unless: ['(?P<host>dog)']\ncaptures:\n"),
        "cat:16: match.unless[0]: found the group host, expected no captures in unless (hint: use (?:…))",
    ),
    "notice-without-reason": (
        ("role: initiator\nseverity: fatal", "role: notice\nseverity: notice"),
        "cat:1: harmless: found nothing, expected why it is harmless (hint: role notice needs it)",
    ),
    "reason-without-notice": (
        ("severity: fatal", "severity: fatal\nharmless: it purrs"),
        "cat:7: harmless: found role initiator, expected harmless for notices only",
    ),
    "loud-notice": (
        ("role: initiator", "role: notice\nharmless: it purrs"),
        "cat:7: severity: found role notice with severity fatal, expected severity notice",
    ),
    "no-address": (
        ("https://example.org/cats", "example.org/cats"),
        "cat:26: references[0]: found 'example.org/cats', expected an http(s) address",
    ),
    "unknown-over": (
        ("captures:\n", "  over: [cat-on-keybord]\ncaptures:\n"),
        "cat:16: match.over[0]: found the unknown signature cat-on-keybord, expected the id of a signature "
        "(hint: did you mean cat-on-keyboard?)",
    ),
    "explains-itself": (
        ("remedies:\n", "explains: [{signature: cat-on-keyboard, reach: job}]\nremedies:\n"),
        "cat:18: explains[0].signature: found its own id cat-on-keyboard, expected another signature",
    ),
    "unknown-resembled": (
        ("guide:\n", "guide:\n  resembles: {dog-on-keyboard: it barks}\n"),
        "cat:25: guide.resembles.dog-on-keyboard: found the unknown signature dog-on-keyboard, "
        "expected the id of a signature (hint: did you mean cat-on-keyboard?)",
    ),
    "unknown-fact": (
        ("{{ key }}", "{{ keyy }}"),
        "cat:21: remedies[0].steps[0]: found the unknown fact keyy, expected a capture or a name of the analysis "
        "(hint: did you mean key?)",
    ),
    "unknown-fact-in-condition": (
        ("when: key", "when: keyy and not first_step"),
        "cat:20: remedies[0].when: found the unknown fact keyy, expected a capture or a name of the analysis "
        "(hint: did you mean key?)",
    ),
    "unknown-filter": (
        ("{{ key }}", "{{ key|uper }}"),
        "cat:21: remedies[0].steps[0]: found the unknown filter uper, expected one that Jinja2 or logsig has "
        "(hint: did you mean upper?)",
    ),
    "template-that-divides": (
        ("off {{ key }}", "off {{ 1 / 0 }}"),
        "cat:21: remedies[0].steps[0]: found a template that fails: division by zero, expected one that any log can fill",
    ),
    "template-that-looks-inside": (
        ("off {{ key }}", "off {{ key.__class__ }}"),
        "cat:21: remedies[0].steps[0]: found a template that fails: access to attribute '__class__' of 'Placeholder' object "
        "is unsafe, expected one that any log can fill",
    ),
    "template-without-end": (
        ("off {{ key }}", "off {% for i in range(9999) %}{% for j in range(9999) %}{% endfor %}{% endfor %}"),
        "cat:21: remedies[0].steps[0]: found a template that fails: more work or text than a template may make (a loop, a "
        "repetition, a number without bounds), expected one that any log can fill",
    ),
    "template-without-bounds": (
        ("when: key", "when: \"'a'.center(10**9)\""),
        "cat:20: remedies[0].when: found a template that fails: more work or text than a template may make (a loop, a "
        "repetition, a number without bounds), expected one that any log can fill",
    ),
    "bad-template": (
        ("{{ key }}", "{% if key %}"),
        "cat:21: remedies[0].steps[0]: found a bad template: Unexpected end of template. Jinja was looking for the "
        "following tags: 'elif' or 'else' or 'endif'. The innermost block that needs to be closed is 'if'., "
        "expected Jinja2 (hint: {{ name }} prints a fact, {% if name %} asks for one)",
    ),
    "bad-condition": (
        ("when: key", "when: key and"),
        "cat:20: remedies[0].when: found a bad expression: unexpected 'end of statement block', "
        "expected Jinja2 (hint: {{ name }} prints a fact, {% if name %} asks for one)",
    ),
    "same-name-twice": (
        ("name: cat-beside", "name: one-cat"),
        "cat:34: counterexamples[0].name: found 'one-cat' a second time, expected every sample with a name of its own",
    ),
    "example-without-literal": (
        ("RuntimeError: cat on keyboard:", "RuntimeError: cat upon keyboard:"),
        "cat:30: examples[0].log: found an example without a literal, expected one of ['cat on keyboard']",
    ),
    "line-outside": (
        ("lines: [1]", "lines: [2]"),
        "cat:32: examples[0].expect.lines: found line 2, expected a line from 1 to 1 of this example",
    ),
    "undeclared-expectation": (
        ("captures: {key: Q}", "captures: {key: Q, host: a}"),
        "cat:32: examples[0].expect.captures.host: found the undeclared capture host, expected a name under captures",
    ),
    "expectation-of-another-type": (
        ("captures: {key: Q}", "captures: {key: 5}"),
        "cat:32: examples[0].expect.captures.key: found 5, expected a value of type str",
    ),
    "no-near-miss": (
        ("    near_miss: true\n", ""),
        "cat:33: counterexamples: found no near miss, expected at least one "
        "(hint: a log with a literal of this signature and another meaning; mark it near_miss: true)",
    ),
    "near-miss-without-literal": (
        ("no cat on keyboard today", "no dog on keyboard today"),
        "cat:36: counterexamples[0].near_miss: found a near miss without a literal, expected one of ['cat on keyboard']",
    ),
    "near-miss-only-quoted": (
        ("no cat on keyboard today", "'[rank3]: RuntimeError: cat on keyboard: key Q'"),
        "cat:36: counterexamples[0].near_miss: found an example in quotes, expected a log that differs in meaning",
    ),
    "left-to-fill": (
        ("title: A cat walked over the keyboard", "title: 'FILL: what happened'"),
        "cat:3: title: found the mark FILL, expected what happened",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(name: str, tmp_path: Path) -> None:
    change, expected = REFUSALS[name]
    assert told(packs.write(tmp_path / "pack", packs.edited(change))) == [expected]


def test_a_file_named_yml_is_refused(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack", packs.GOOD, "host/cat-on-keyboard.yml")
    assert [fault.found for fault in check.check(folder, None).faults] == ["a file named *.yml"]


def test_a_backtracking_pattern_is_told_with_its_place(tmp_path: Path) -> None:
    (fault,) = told(
        packs.write(tmp_path / "pack", packs.edited(("'cat on keyboard: key", "'(?:\\w+\\s*){1,30}keyboard: key")))
    )
    assert fault.startswith("cat:15: match.pattern: found a pattern that needs more than 0.1 s on ")
    assert fault.endswith("begin with a word)")


# ---------------------------------------------------------------- through the whole line

DIFFERENCES = {
    "no-event": (
        ("key (?P<key>", "button (?P<key>"),
        "cat:30: examples[0].log: found one-cat: no event, expected an event of cat-on-keyboard",
    ),
    "other-rank": (("{rank: 3", "{rank: 4"), "cat:30: examples[0].log: found one-cat: rank 3, expected rank 4"),
    "other-capture": (
        ("captures: {key: Q}", "captures: {key: W}"),
        "cat:30: examples[0].log: found one-cat: key 'Q', expected 'W'",
    ),
    "other-line": (
        ("      [rank3]: Run", "      [rank3]: meow\n      [rank3]: Run"),
        "cat:30: examples[0].log: found one-cat: evidence on line 2, expected on line 1",
    ),
    "other-count": (("lines: [1]", "count: 2"), "cat:30: examples[0].log: found one-cat: 1 events, expected 2"),
    "other-scope": (
        ("lines: [1]", "scope: all-ranks"),
        "cat:30: examples[0].log: found one-cat: scope one-rank, expected scope all-ranks",
    ),
    "no-remedy": (
        ("when: key", "when: not key"),
        "cat:30: examples[0].log: found one-cat: no remedy whose condition holds, expected at least one that fits this log",
    ),
    "no-step": (
        (
            'when: key\n    steps: ["Take the cat off {{ key }}."]',
            'steps: ["Take the cat off {{ device }} of {{ rank }}."]',
        ),
        "cat:19: remedies[0]: found no step without a fact that one-cat doesn't tell: device, rank, "
        "expected a step that any log can fill (hint: did you mean first_rank?)",
    ),
    "no-summary": (
        ("{% if rank is number %}rank {{ rank }}{% else %}the job{% endif %}", "{{ host }}"),
        "cat:30: examples[0].log: found one-cat: a summary that speaks of a fact unknown here, "
        "expected {% if fact %}…{% endif %} around it",
    ),
    "counterexample-speaks": (
        ("no cat on keyboard today", "[rank1]: RuntimeError: cat on keyboard: key W"),
        "cat:37: counterexamples[0].log: found cat-beside: cat-on-keyboard speaks on line 1, "
        "expected silence, because: it lies beside it",
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_sample_that_belies_its_claim(name: str, tmp_path: Path) -> None:
    change, expected = DIFFERENCES[name]
    assert told(packs.write(tmp_path / "pack", packs.edited(change)), LINE) == [expected]


def other(*changes: tuple[str, str]) -> str:
    """Give a second signature, about keys."""
    base = (
        ("id: cat-on-keyboard", "id: key-pressed"),
        ("literals: ['cat on keyboard']", "literals: ['keyboard: key']"),
        ("'cat on keyboard: key (?P<key>", "'(?:cat on )?keyboard: key (?P<key>"),
        ("no cat on keyboard today", "no keyboard: key today"),
        ("RuntimeError: cat on keyboard", "RuntimeError: keyboard"),
    )
    return packs.edited(*base, *changes)


def test_two_that_claim_one_example_are_told(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack")
    packs.write(
        folder,
        other(("key (?P<key>\\w{1,20})'", "key (?P<key>\\w{1,20})'\n  over: [cat-on-keyboard]")),
        "host/key-pressed.yaml",
    )
    assert told(folder, LINE) == [
        "cat:30: examples[0].log: found one-cat: key-pressed, expected an event of cat-on-keyboard"
    ]


def test_over_settles_who_claims_an_example(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack", packs.edited(("captures:\n", "  over: [key-pressed]\ncaptures:\n")))
    packs.write(folder, other(), "host/key-pressed.yaml")
    assert told(folder, LINE) == []


def test_an_unrelated_initiator_in_an_example_is_told(tmp_path: Path) -> None:
    folder = packs.write(
        tmp_path / "pack", packs.edited(("key Q\n", "key Q\n      [rank2]: RuntimeError: dog barks\n"))
    )
    dog = packs.edited(
        ("id: cat-on-keyboard", "id: dog-barks"),
        ("cat on keyboard: key Q", "dog barks"),
        ("literals: ['cat on keyboard']", "literals: ['dog barks']"),
        ("  pattern: 'cat on keyboard: key (?P<key>\\w{1,20})'\ncaptures:\n  key: the key it stood on\n", ""),
        (", captures: {key: Q}", ""),
        ("no cat on keyboard today", "no dog barks today"),
        ("    when: key\n", ""),
        ("{{ key }}", "the sofa"),
    )
    packs.write(folder, dog, "host/dog-barks.yaml")
    assert told(folder, LINE) == [
        "cat:30: examples[0].log: found one-cat: dog-barks besides, expected cat-on-keyboard alone, or explains, or over"
    ]
    explained = packs.edited(
        ("key Q\n", "key Q\n      [rank2]: RuntimeError: dog barks\n"),
        ("remedies:\n", "explains: [{signature: dog-barks, reach: same-rank}]\nremedies:\n"),
    )
    assert told(packs.write(folder, explained), LINE) == []


# ---------------------------------------------------------------- the command


def test_the_command_tells_all_faults_and_exits_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packs.write(tmp_path / "pack", packs.edited(("role: initiator", "role: init"), ("since: 0.1.0", "since: soon")))
    packs.write(tmp_path / "pack", "a: [", "host/broken.yaml")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, ["check", "pack"])
    assert result.exit_code == 2
    lines = result.output.splitlines()
    assert [line.partition(": found")[0] for line in lines[:-1]] == [
        "pack/host/broken.yaml:2: yaml",
        "pack/host/cat-on-keyboard.yaml:5: role",
    ]
    assert lines[-1] == "0 signatures, 0 samples: 2 faults"


def test_the_command_exits_0_on_a_good_pack(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["check", str(packs.write(tmp_path / "pack"))])
    assert (result.exit_code, result.output) == (0, "1 signature, 2 samples: no faults\n")


def test_one_file_of_a_pack_is_checked_beside_the_others(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack", packs.edited(("captures:\n", "  over: [key-pressed]\ncaptures:\n")))
    packs.write(folder, other(("title: A cat", "title: 'FILL: A cat")), "host/key-pressed.yaml")
    report = check.check(folder / "host" / "cat-on-keyboard.yaml", None)
    assert report.faults[0].found == "the unknown signature key-pressed"


def test_hostile_names_and_texts_are_shown_harmless(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pa\n::error::ck\x1b[31m")
    packs.write(
        folder, packs.edited(("severity: fatal", 'severity: "fatal\\e[31m\\n::error::x"')), "host/b\n::error::x.yaml"
    )
    output = CliRunner().invoke(command, ["check", str(folder)]).output
    assert "1 fault" in output
    assert "\x1b" not in output
    assert not [line for line in output.splitlines() if line.lstrip().startswith("::")]


def test_a_hostile_title_is_listed_harmless(tmp_path: Path) -> None:
    text = packs.edited(("title: A cat walked over the keyboard", 'title: "\\e]52;c;eA==\\aA cat\\n::error::x"'))
    folder = packs.write(tmp_path / "pack", text)
    output = CliRunner().invoke(command, ["list", "--signatures", str(folder)]).output
    assert "cat-on-keyboard" in output
    assert "\x1b" not in output
    assert not [line for line in output.splitlines() if line.lstrip().startswith("::")]

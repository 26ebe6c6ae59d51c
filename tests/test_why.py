"""Why a signature won or didn't: each clause that can end its way, on a log of its own."""

from __future__ import annotations

from pathlib import Path

import packs
import pytest

from logsig import load_catalog, reach, why
from logsig.catalog import Catalog, build_catalog, load_folder
from logsig.cli import run
from logsig.commands.why import layout
from logsig.scan import scan

CAT = "[rank3]: RuntimeError: cat on keyboard: key Q\n"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cats(tmp_path: Path) -> Catalog:
    """The library with a cat in it that gives way before a dog."""
    folder = packs.write(tmp_path / "pack", packs.edited(("  pattern:", "  unless: ['paper cat']\n  pattern:")))
    dog = packs.edited(("cat-on-keyboard", "dog-on-keyboard"), ("match:\n", "match:\n  over: [cat-on-keyboard]\n"))
    dog = dog.replace("key (?P<key>\\w{1,20})", "key (?P<key>dog)")
    packs.write(folder, dog, "host/dog-on-keyboard.yaml")
    return load_catalog((folder,))


def ask(cats: Catalog, log: str, identity: str = "cat-on-keyboard") -> why.Why:
    Path("train.log").write_text(log, encoding="utf-8")
    return why.why(identity, scan(["train.log"], [literal.decode() for literal in cats.scan_literals]), cats)


def clauses(found: why.Why) -> list[tuple[str, bool, str]]:
    return [(clause.name, clause.holds, clause.says) for clause in found.trails[0].clauses]


def test_a_root_cause_is_told_from_literal_to_root(cats: Catalog) -> None:
    found = ask(cats, CAT)
    assert found.conclusion == "cat-on-keyboard is the root cause."
    assert found.literals == (why.Clause("literal", True, "'cat on keyboard' stands in 1 message"),)
    assert clauses(found) == [
        ("unless", True, "isn't in it"),
        ("pattern", True, "matches 'cat on keyboard: key Q'"),
        ("where", True, "an error speaks, after 'RuntimeError: '"),
        ("rival", True, "stands before python-exception: a general net gives way"),
        ("event", True, "counts for rank 3 with key Q"),
        ("explained", True, "by nothing else in this attempt"),
        ("root", True, "the root cause. Rank 3 failed by itself, and no other rank shows a failure of its own."),
    ]


def test_no_literal_is_the_first_answer(cats: Catalog) -> None:
    found = ask(cats, "[rank3]: step 1\n[rank3]: RuntimeError: mouse on keyboard: key Q\n")
    assert found.conclusion == "cat-on-keyboard didn't match. No root cause was found."
    assert found.literals == (why.Clause("literal", False, "nowhere in the log: 'cat on keyboard'"),)
    assert found.trails == ()


def test_a_missing_literal_is_shown_where_the_pattern_alone_would_match(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack", packs.edited(("['cat on keyboard']", "['dog on keyboard']")))
    pack, _ = load_folder(folder)
    assert pack is not None
    found = ask(build_catalog([pack]), CAT)
    assert [clause.says for clause in found.literals] == [
        "nowhere in the log: 'dog on keyboard'",
        "would match train.log:1, but none of its literals stands there",
    ]


def test_a_pattern_that_fails_says_how_far_it_got(cats: Catalog) -> None:
    found = ask(cats, "[rank3]: RuntimeError: cat on keyboard: button Q\n")
    assert found.conclusion.startswith("cat-on-keyboard didn't match: its literal is there, its pattern isn't.")
    assert clauses(found)[-1] == (
        "pattern", False, "gets as far as 'cat on keyboard: ', then wants key (?P<key>\\w{1,20}) where the message has 'button Q'",
    )  # fmt: skip


def test_what_rules_it_out_is_quoted(cats: Catalog) -> None:
    found = ask(cats, "[rank3]: RuntimeError: cat on keyboard: key Q by a paper cat\n")
    assert clauses(found) == [("unless", False, "the message holds 'paper cat', which rules it out")]


def test_a_quotation_is_no_error(cats: Catalog) -> None:
    found = ask(cats, "[rank3]: hint: if you see 'cat on keyboard: key Q' close the door\n")
    assert found.conclusion == "cat-on-keyboard didn't match: its words are only quoted. No root cause was found."
    assert clauses(found)[-1] == (
        "where", False, "no error speaks here: the match follows \"hint: if you see '\"",
    )  # fmt: skip


def test_a_rival_is_named_with_the_rule(cats: Catalog) -> None:
    found = ask(cats, "[rank3]: RuntimeError: cat on keyboard: key dog\n")
    assert clauses(found)[-1] == ("rival", False, "gives way to dog-on-keyboard: declared more specific (over)")
    winner = ask(cats, "[rank3]: RuntimeError: cat on keyboard: key dog\n", "dog-on-keyboard")
    assert ("rival", True, "stands before cat-on-keyboard: declared more specific (over)") in clauses(winner)


def test_what_the_run_survived_is_recovered(cats: Catalog) -> None:
    log = "[rank3]: ERROR: cat on keyboard: key Q\n" + "".join(f"[rank3]: step {n} loss 2.1\n" for n in range(60))
    assert clauses(ask(cats, log))[-1] == (
        "recovered", False, "the run went on after it, so it isn't counted as a failure",
    )  # fmt: skip


def test_the_cause_that_explains_it_is_named_with_its_edge(catalog: Catalog) -> None:
    log = (
        "[rank1]: Traceback (most recent call last):\n"
        '[rank1]:   File "/job/train.py", line 88, in collate\n[rank1]:     labels = batch["labels"]\n'
        "[rank1]: KeyError: 'labels'\n"
        "[rank0]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [::1]:29500\n"
    )
    found = ask(catalog, log, "gloo-connection-closed")
    assert found.conclusion.endswith("matched, and another event explains it. The root cause is python-exception.")
    names = [(name, holds) for name, holds, _ in clauses(found)]
    assert names[-2:] == [("explained", False), ("root", False)]
    assert "train.log:4" in clauses(found)[-1][2]


def test_the_same_failure_of_every_rank_is_one_cause(cats: Catalog) -> None:
    found = ask(cats, "".join(CAT.replace("rank3", f"rank{rank}") for rank in range(4)))
    assert [trail.clauses[-1].holds for trail in found.trails] == [True, True]
    assert found.trails[1].count == 3
    assert found.trails[1].clauses[-1].says == "the root cause stands on ranks 0-3; this is one of them"


def test_a_finding_without_words_is_told(catalog: Catalog) -> None:
    log = (
        "[rank0]: step 1 loss 2.1\n[rank1]: step 1 loss 2.1\n"
        "srun: error: c-node7: task 1: Segmentation fault (core dumped)\n"
    )
    found = ask(catalog, log, "segfault")
    assert found.is_root
    assert [(clause.name, clause.holds) for clause in found.literals][-1] == ("finding", True)


def test_messages_of_one_fate_are_counted(cats: Catalog) -> None:
    log = "".join(
        f"[rank{n % 4}]: RuntimeError: cat on keyboard: button {n % 2}\n[rank{n % 4}]: step {n}\n" for n in range(40)
    )
    found = ask(cats, log)
    assert sum(trail.count for trail in found.trails) + found.untold == 40
    assert len(found.trails) <= why.MAX_SHOWN


def test_the_layout_is_plain_and_whole(cats: Catalog) -> None:
    shown = layout(ask(cats, "[rank3]: RuntimeError: cat on keyboard: button Q\n"), 80)
    assert "train.log:1" in shown
    assert "    RuntimeError: cat on keyboard: button Q\n" in shown


def test_the_command_answers_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    Path("train.log").write_text("[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n")
    assert run(["why", "cuda-oom", "train.log"]) == 0
    assert capsys.readouterr().out.startswith("cuda-oom is the root cause.\n")
    assert run(["why", "python-exceptio", "train.log"]) == 2
    assert "did you mean python-exception?" in capsys.readouterr().err
    assert run(["why", "python-exception", "no.log"]) == 2


# ---------------------------------------------------------------- how far a pattern gets


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        (r"ab+?c{2,3}", [["a", "b+?", "c{2,3}"]]),
        (r"a(b|c)*|[^]|x]d", [["a", "(b|c)*"], ["[^]|x]", "d"]]),
        (r"\(x\)\s*+", [[r"\(", "x", r"\)", r"\s*+"]]),
        (r"(?:a[)]b)?z", [["(?:a[)]b)?", "z"]]),
        (r"a{x}", [["a", "{", "x", "}"]]),
    ],
)
def test_a_pattern_is_cut_at_its_atoms(pattern: str, alternatives: list[list[str]]) -> None:
    assert list(reach.alternatives(pattern)) == alternatives


def test_the_atoms_of_every_pattern_of_the_library_give_it_back(catalog: Catalog) -> None:
    for entry in catalog.signatures.values():
        for pattern in entry.match.pattern:
            assert "|".join("".join(pieces) for pieces in reach.alternatives(pattern)) == pattern


def test_the_furthest_alternative_counts() -> None:
    found = reach.reach(["abcx", "abz|abcdy"], "--abcde")
    assert found == reach.Reach("abcd", "y", "e")

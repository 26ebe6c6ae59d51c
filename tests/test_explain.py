"""The page of a signature on a terminal, found by its id or by a piece of the message."""

from __future__ import annotations

from pathlib import Path

import click
import packs
import pytest
from click.testing import CliRunner

import logsig
from logsig import page
from logsig.commands import explain, signatures

WHOLE = logsig.load_catalog(lenient=True)


def run(*words: str) -> str:
    result = CliRunner().invoke(explain.command, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_a_page_is_laid_out_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shown = explain.layout(packs.catalog_of(packs.write(tmp_path / "pack")), "cat-on-keyboard", 60)
    assert click.unstyle(shown) == (
        "cat-on-keyboard\nA cat walked over the keyboard\n\n"
        "What happened\n  A cat stopped the job.\n  Keys were pressed that nobody pressed.\n\n"
        "What to do\n  1. Close the door\n  If the log tells the key it stood on.\n  - Take the cat off <key>.\n  Verify: The door is closed.\n\n"
        "Cheapest way to confirm\n  - Look at the keyboard.\n\n"
        "How it comes about\n  Warm things attract cats.\n\n"
        "What is read from the log\n  - key: the key it stood on\n\n"
        "What it looks like\n      [rank3]: RuntimeError: cat on keyboard: key Q\n\n"
        "Facts about this signature\n"
        "  - family host, role initiator, severity fatal, since 0.1.0\n"
        "  - retry: restart after the fix\n  - wordings seen in cat >=1\n  - tags: animals\n\n"
        "References\n  - https://example.org/cats\n\n"
        "<key> and the like stand for what a log tells; 'logsig LOG'\nfills them in.\n"
    )


def test_hostile_text_of_a_pack_is_harmless_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = packs.edited(("Warm things attract cats.", '"\\e]0;owned\\a::add-mask::x\\e[2J"'))
    shown = explain.layout(packs.catalog_of(packs.write(tmp_path / "pack", text)), "cat-on-keyboard", 60)
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown


@pytest.mark.parametrize("name", list(WHOLE.signatures))
def test_every_page_reads_without_a_log(name: str) -> None:
    shown = click.unstyle(explain.layout(WHOLE, name, 80))
    assert shown.startswith(f"{name}\n")
    assert "{{" not in shown
    assert "{%" not in shown
    assert "Undefined" not in shown


def test_an_id_shows_its_page() -> None:
    assert run("cuda-oom").startswith("cuda-oom\n")


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB", "cuda-oom"),
        (
            "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one",
            "ddp-reduction-not-finished",
        ),
        ("expected to have finished reduction", "ddp-reduction-not-finished"),
        ("Trying to backward through the graph a second time", "autograd-backward-twice"),
    ],
)
def test_a_message_finds_its_page(message: str, name: str) -> None:
    assert run(message).startswith(f"{name}\n")


def test_several_candidates_are_listed() -> None:
    lines = run("mismatch").splitlines()
    assert lines[0].endswith("signatures may be meant; 'logsig explain ID' shows one:")
    assert len(lines) > 2


def test_a_slip_in_an_id_is_told() -> None:
    result = CliRunner().invoke(explain.command, ["cuda-omm"])
    assert result.exit_code == 2
    assert "no signature 'cuda-omm'; did you mean cuda-oom" in result.output


def test_what_nobody_says_is_told() -> None:
    result = CliRunner().invoke(explain.command, ["the quick brown fox jumps"])
    assert result.exit_code == 2
    assert "no signature speaks of 'the quick brown fox jumps'" in result.output


def test_a_placeholder_survives_arithmetic_filters_and_calls() -> None:
    template = "{{ (a / 2**30)|round(2) }} {{ b|join(', ') }} {{ c[:4]|join }} {{ f('2.4') }} {{ g.h }} {{ 'x' if i > 3 else 'y' }}"
    assert page.filled(template) == "<a> <b> <c> <f> <g.h> y"


def test_the_list_names_every_signature_once() -> None:
    output = CliRunner().invoke(signatures.command, ["list"]).output
    rows = [line.split()[0] for line in output.splitlines() if line.startswith("  ")]
    assert sorted(rows) == sorted(WHOLE.signatures)


def test_the_list_can_be_narrowed() -> None:
    output = CliRunner().invoke(signatures.command, ["list", "--family", "gloo", "--role", "collateral"]).output
    assert "gloo-connection-closed" in output
    assert "gloo-timeout" not in output


def test_an_unknown_family_is_told() -> None:
    result = CliRunner().invoke(signatures.command, ["list", "--family", "cats"])
    assert result.exit_code == 2
    assert "found 'cats', expected one of autograd, checkpoint" in result.output


def test_show_prints_the_file_as_written() -> None:
    output = CliRunner().invoke(signatures.command, ["show", "cuda-oom"]).output
    assert output == Path(WHOLE.file("cuda-oom")).read_text(encoding="utf-8")


def test_words_that_stand_anywhere_mean_nothing() -> None:
    result = CliRunner().invoke(explain.command, ["nothing at all"])
    assert result.exit_code == 2
    assert "no signature speaks of 'nothing at all'" in result.output


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("CUDA out of memory", "cuda-oom"),
        ("out of memory", "cuda-oom"),
        ("NCCL timeout", "nccl-collective-timeout"),
        ("KeyError: 'labels'", "python-exception"),
        ("[rank3]: ValueError: foo bar", "python-exception"),
    ],
)
def test_what_people_type_means_what_they_mean(message, expected):
    assert explain.identify(WHOLE, message)[0] == expected

"""The library as a whole: rivals, rules that decide by chance, fragile examples, hot literals, false alarms."""

from __future__ import annotations

import runpy
from pathlib import Path

import packs
import pytest
from click.testing import CliRunner

import logsig
from logsig import survey
from logsig.catalog import Catalog
from logsig.check import Line
from logsig.commands.signatures import command
from logsig.scan import scan

LINE = Line(logsig.match_text, logsig.analyze_text)
ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def looked(catalog: Catalog, *healthy: Path) -> survey.Survey:
    return survey.survey(catalog, LINE, [str(path) for path in healthy], scan, logsig.analyze)


def pair(tmp_path: Path, *changes: tuple[str, str]) -> Catalog:
    """Two signatures on the same message."""
    folder = packs.write(tmp_path / "pack")
    text = packs.edited(("id: cat-on-keyboard", "id: kitten"), ("['cat on keyboard']", "['cat on']"), *changes)
    return packs.catalog_of(packs.write(folder, text, "host/kitten.yaml"))


def test_an_overlap_that_only_the_longer_literal_decides_is_chance(tmp_path: Path) -> None:
    found = looked(pair(tmp_path))
    assert found.chances == (survey.Chance("cat-on-keyboard", "kitten", "literal", "cat-on-keyboard/one-cat"),)
    assert found.pairs == (survey.Pair("cat-on-keyboard", "kitten", 2, True, ("literal",)),)
    assert found.never_root == ("kitten",)
    assert found.never == ("kitten",)


def test_an_overlap_settled_on_purpose_is_no_chance(tmp_path: Path) -> None:
    found = looked(pair(tmp_path, ("match:\n", "match:\n  over: [cat-on-keyboard]\n")))
    assert found.chances == ()
    assert found.pairs == (survey.Pair("cat-on-keyboard", "kitten", 2, True, ("over",)),)
    assert found.never_root == ("cat-on-keyboard",)


def test_a_general_net_beside_a_specific_one_is_meant_so(tmp_path: Path) -> None:
    found = looked(pair(tmp_path, ("match:\n", "match:\n  net: true\n")))
    assert [(each.first, each.second) for each in found.pairs] == [("kitten", "cat-on-keyboard")]
    assert found.chances == ()


def test_every_change_of_winner_is_listed_line_by_line(tmp_path: Path) -> None:
    log = "      [rank3]: step 1 loss 2.0\n      [rank3]: RuntimeError: cat on keyboard: key Q\n      [rank3]: bye\n"
    text = packs.edited(("      [rank3]: RuntimeError: cat on keyboard: key Q\n", log), ("lines: [1]", "lines: [2]"))
    found = looked(packs.catalog_of(packs.write(tmp_path / "pack", text)))
    assert found.drops == (
        survey.Drop("cat-on-keyboard", "cat-on-keyboard/one-cat", 2, "cat-on-keyboard", None, evidence=True),
    )


def test_another_winner_is_named(tmp_path: Path) -> None:
    log = "      [rank3]: RuntimeError: cat on keyboard: key Q\n      [rank2]: RuntimeError: dog on keyboard: key Q\n"
    folder = packs.write(
        tmp_path / "pack", packs.edited(("      [rank3]: RuntimeError: cat on keyboard: key Q\n", log))
    )
    dog = packs.edited(("cat-on-keyboard", "dog-on-keyboard"), ("cat on keyboard", "dog on keyboard"))
    found = looked(packs.catalog_of(packs.write(folder, dog, "host/dog-on-keyboard.yaml")))
    assert [(drop.line, drop.after) for drop in found.drops if drop.signature == "cat-on-keyboard"] == [
        (1, "dog-on-keyboard")
    ]


def test_heat_is_counted_in_healthy_bytes(tmp_path: Path) -> None:
    log = tmp_path / "healthy.log"
    log.write_text("no cat on keyboard today\nstep 1 loss 2.0\n" * 1000)
    found = looked(packs.catalog_of(packs.write(tmp_path / "pack")), log)
    assert found.healthy_bytes == log.stat().st_size
    assert [(heat.literal, heat.signatures, heat.count) for heat in found.heat] == [
        ("cat on keyboard", ("cat-on-keyboard",), 1000)
    ]
    assert found.heat[0].per_megabyte == pytest.approx(1000 * (1 << 20) / found.healthy_bytes)
    assert found.alarms == ()


def test_a_false_alarm_is_named(tmp_path: Path) -> None:
    log = tmp_path / "healthy.log"
    log.write_text("[rank1]: RuntimeError: cat on keyboard: key Q\n")
    found = looked(packs.catalog_of(packs.write(tmp_path / "pack")), log)
    assert found.alarms == (survey.Alarm(str(log), "failure", ("cat-on-keyboard",)),)


def test_the_command_prints_every_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = packs.catalog_of(packs.write(tmp_path / "pack"))
    monkeypatch.setattr("logsig.commands.signatures._load", lambda _extra: small)
    log = tmp_path / "healthy.log"
    log.write_text("no cat on keyboard today\n")
    result = CliRunner().invoke(command, ["report", "--all", str(log)])
    assert result.exit_code == 0, result.output
    assert "Signatures that come out of no sample (0)\n" in result.output
    assert "  cat-on-keyboard/one-cat without line 1\n" in result.output
    assert "'cat on keyboard'  cat-on-keyboard\n" in result.output


# ---------------------------------------------------------------- the library among healthy logs


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    write = runpy.run_path(str(ROOT / "fixtures" / "healthy" / "make.py"))["write"]
    paths: list[Path] = write(tmp_path_factory.mktemp("healthy"), 0.1, 1)
    return paths


def test_the_generator_gives_the_same_bytes_again(healthy: list[Path], tmp_path: Path) -> None:
    again = runpy.run_path(str(ROOT / "fixtures" / "healthy" / "make.py"))["write"](tmp_path, 0.1, 1)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in healthy]


def test_no_healthy_log_is_a_failure(healthy: list[Path], catalog: Catalog) -> None:
    outcomes = {path.stem: logsig.diagnose([path], catalog).outcome for path in healthy}
    assert {name: outcome for name, outcome in outcomes.items() if outcome not in ("healthy", "unfinished")} == {}


def test_what_is_scanned_for_is_cold_in_healthy_logs(healthy: list[Path], catalog: Catalog) -> None:
    """A literal of a failure may stand in a healthy log, but not on every hundredth line of all of them."""
    seen = scan([str(path) for path in healthy], [literal.decode() for literal in catalog.scan_literals])
    megabytes = sum(seen.sizes.values()) / (1 << 20)
    hot = {literal: round(count / megabytes) for literal, count in seen.hits.items() if count / megabytes > 60}
    assert hot == {}


def test_no_overlap_of_the_library_is_left_to_chance(catalog: Catalog) -> None:
    readings = [survey._Reading(name, sample, catalog) for name, sample in survey._samples(catalog)]
    assert tuple(survey._chances(readings)) == ()

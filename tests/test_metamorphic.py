"""What must not change the answer doesn't: the verdict stays or becomes undecided, it never turns into another rank."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import binary

from logsig import analyze, analyze_text
from logsig.catalog import Catalog
from logsig.model import Diagnosis

FOLDER = Path(__file__).parents[1] / "fixtures" / "cases"
CASES = sorted(path.parent.name for path in FOLDER.glob("*/report.txt") if (path.parent / "log.txt").exists())
LABELLED = [name for name in CASES if "[rank" in (FOLDER / name / "log.txt").read_text(encoding="utf-8")]
_MARK = re.compile(r"\[rank ?(\d+)\]")
_ANY_RANK = re.compile(
    r"(?P<head>\[rank ?|\b[Rr]ank(?:s)? {1,6}:? ?|local_rank: |for rank |\[Rank |default)(?P<rank>\d+)"
)


@cache
def text_of(case: str) -> str:
    return (FOLDER / case / "log.txt").read_bytes().decode("utf-8", "replace")


def verdict(found: Diagnosis) -> tuple[str | None, int | None]:
    return found.root_cause.signature if found.root_cause else None, found.first_failing_rank


def agrees(found: Diagnosis, before: Diagnosis) -> bool:
    """The same signature, and the same rank or none."""
    return verdict(found)[0] == verdict(before)[0] and found.first_failing_rank in (before.first_failing_rank, None)


def blocks_of(text: str) -> list[tuple[str | None, list[str]]]:
    """Runs of lines of one rank as the marks tell; lines without mark belong to the run before them."""
    blocks: list[tuple[str | None, list[str]]] = []
    for line in text.splitlines():
        mark = _MARK.search(line)
        rank = mark[1] if mark else None
        if blocks and (rank is None or blocks[-1][0] == rank):
            blocks[-1][1].append(line)
        else:
            blocks.append((rank, [line]))
    return blocks


@pytest.mark.parametrize("case", LABELLED)
def test_chatter_of_a_healthy_rank_changes_nothing(case: str, catalog: Catalog) -> None:
    """Ordinary lines of a rank that is already there, between the blocks of others."""
    before = analyze_text(text_of(case), catalog)
    ranks = sorted({rank for rank, _ in blocks_of(text_of(case)) if rank is not None}, key=int)
    lines: list[str] = []
    for number, (_, block) in enumerate(blocks_of(text_of(case))):
        lines += [
            *block,
            *([f"[rank{ranks[0]}]: tokenizer cache warm, {number} shards"] if number % 3 == 0 and number < 12 else []),
        ]
    assert agrees(analyze_text("\n".join(lines) + "\n", catalog), before)


@pytest.mark.parametrize("case", LABELLED)
def test_order_of_independent_training_lines_changes_nothing(case: str, catalog: Catalog) -> None:
    """Lines of different ranks within the ordinary training part may come in any order; each rank's own order stays."""
    before = analyze_text(text_of(case), catalog)
    blocks = blocks_of(text_of(case))
    first = next(
        (
            index
            for index, (_, block) in enumerate(blocks)
            if any("Traceback" in line or "rror" in line for line in block)
        ),
        0,
    )
    queues: dict[str | None, list[str]] = {}
    for rank, block in blocks[:first]:
        queues.setdefault(rank, []).extend(block)
    chance, mixed = random.Random(case), []
    while any(queues.values()):
        rank = chance.choice([rank for rank, queue in queues.items() if queue])
        mixed.append(queues[rank].pop(0))
    rest = [line for _, block in blocks[first:] for line in block]
    assert agrees(analyze_text("\n".join([*mixed, *rest]) + "\n", catalog), before)


@pytest.mark.parametrize(
    "case", [name for name in LABELLED if "[default" not in text_of(name) and "local_rank" not in text_of(name)]
)
def test_renumbered_ranks_renumber_the_answer(case: str, catalog: Catalog) -> None:
    """Ten added to every rank is ten added to the answer."""
    before = analyze_text(text_of(case), catalog)
    moved = _ANY_RANK.sub(lambda found: f"{found['head']}{int(found['rank']) + 10}", text_of(case))
    after = analyze_text(moved, catalog)
    assert verdict(after)[0] == verdict(before)[0]
    assert after.first_failing_rank in (
        None,
        before.first_failing_rank if before.first_failing_rank is None else before.first_failing_rank + 10,
    )


@pytest.mark.parametrize("case", [name for name in LABELLED if "ChildFailedError" in text_of(name)])
def test_a_file_per_rank_gives_the_same_answer(case: str, catalog: Catalog, tmp_path: Path) -> None:
    """The merged console taken apart into files, launcher apart: files are in no order with one another."""
    before = analyze_text(text_of(case), catalog)
    files: dict[str, list[str]] = {}
    for line in text_of(case).splitlines():
        mark = _MARK.search(line)
        files.setdefault(f"rank_{mark[1]}.log" if mark else "launcher.log", []).append(line)
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert agrees(analyze([str(tmp_path)], catalog), before)


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty megabytes of ordinary lines."""
    path = tmp_path_factory.mktemp("training") / "lines.log"
    block = "".join(
        f"data: shard {number:06d} of corpus part {number % 97} mapped, {number * 31 % 977} documents skipped so far\n"
        for number in range(5_000)
    )
    path.write_text(block * (50_000_000 // len(block)), encoding="utf-8")
    return path


@pytest.mark.parametrize("case", CASES[::9])
def test_fifty_megabytes_of_training_change_nothing(
    case: str, catalog: Catalog, tmp_path: Path, training: Path
) -> None:
    """Ordinary lines before the log and between its halves: more than is kept, the failure is still found."""
    before = analyze_text(text_of(case), catalog)
    lines = text_of(case).splitlines(keepends=True)
    first = next(
        (number for number, line in enumerate(lines) if "Traceback" in line or "rror" in line), len(lines) // 2
    )
    filler = training.read_text(encoding="utf-8")
    label = re.match(r" *\d+: |\[default\d+\]:", lines[0])
    if label:  # a launcher labels every line
        filler = filler.replace("data: ", f"{label[0]}data: ")
    log = tmp_path / "long.log"
    with log.open("w", encoding="utf-8") as out:
        out.write(filler)
        out.writelines(lines[:first])
        out.write(filler[: 2_000_000 // 100 * 100].rpartition("\n")[0] + "\n")
        out.writelines(lines[first:])
    assert agrees(analyze([str(log)], catalog), before)


@given(data=binary(max_size=2_000))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_bytes_never_raise(data: bytes, catalog: Catalog, tmp_path: Path) -> None:
    """Any bytes are a log: something is said of them, nothing is thrown."""
    log = tmp_path / "bytes.log"
    log.write_bytes(b"[rank0]: Traceback (most recent call last):\n" + data)
    assert analyze([str(log)], catalog).outcome in (
        "failure",
        "healthy",
        "unfinished",
        "recovered",
        "interrupted",
        "unrecognised",
        "empty",
    )


@pytest.mark.parametrize("case", CASES[::5])
def test_order_of_input_files_changes_nothing(case: str, catalog: Catalog, tmp_path: Path) -> None:
    """Two halves of one job's output as two files, in either order."""
    ranks = text_of(case).splitlines(keepends=True)
    (tmp_path / "a.log").write_text("".join(ranks[::1]), encoding="utf-8")
    (tmp_path / "b.log").write_text("data: all shards mapped\n", encoding="utf-8")
    one = analyze([str(tmp_path / "a.log"), str(tmp_path / "b.log")], catalog)
    other = analyze([str(tmp_path / "b.log"), str(tmp_path / "a.log")], catalog)
    assert verdict(one) == verdict(other)

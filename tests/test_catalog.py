"""The catalog: the same records from YAML, from a cache and from the wheel's file; loaded quickly, whatever is broken."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import packs
import pytest

from logsig import catalog, library
from logsig.catalog import CatalogError, build_catalog, load_catalog, load_folder
from logsig.signature import Signature


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("LOCALAPPDATA", str(folder))
    return folder / "logsig"


@pytest.fixture
def lone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an empty library in place of ours."""
    (tmp_path / "signatures").mkdir()
    monkeypatch.setattr(catalog, "PACKAGE", tmp_path / "logsig")
    monkeypatch.setattr(catalog, "_cache_key", lambda digest, _is_ours: digest)
    monkeypatch.setattr(catalog, "BUILT", tmp_path / "logsig" / "_library" / "library.jsonl")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    return packs.write(tmp_path / "pack")


def told(error: pytest.ExceptionInfo[CatalogError], folder: Path) -> list[str]:
    return [str(fault).replace(f"{folder}{os.sep}", "") for fault in error.value.faults]


def test_an_entry_carries_all_that_matching_needs(pack: Path) -> None:
    entry = packs.catalog_of(pack).get("cat-on-keyboard")
    assert entry.match == catalog.Match(
        literals=("cat on keyboard",), pattern=(r"cat on keyboard: key (?P<key>\w{1,20})",)
    )
    assert (entry.role, entry.severity, entry.retryable, entry.points_at) == (
        "initiator",
        "fatal",
        "after-fix",
        "speaker",
    )
    assert entry.captures == {"key": "str"}
    assert entry.path == "host/cat-on-keyboard.yaml"


def test_a_page_carries_what_a_person_reads(pack: Path) -> None:
    page = packs.catalog_of(pack).page("cat-on-keyboard")
    assert page.remedies[0].steps == ("Take the cat off {{ key }}.",)
    assert page.guide == {"mechanism": "Warm things attract cats."}
    assert page.captures == {"key": "the key it stood on"}
    assert page.versions == {"cat": ">=1"}


def test_a_proof_carries_the_samples(pack: Path) -> None:
    proof = packs.catalog_of(pack).proof("cat-on-keyboard")
    assert proof.examples[0].log == "[rank3]: RuntimeError: cat on keyboard: key Q\n"
    assert proof.examples[0].expect == {"rank": 3, "lines": [1], "captures": {"key": "Q"}}
    assert proof.counterexamples[0].near_miss


def test_no_field_of_a_signature_is_lost(pack: Path) -> None:
    """Every field of the model stands in the machine half, the page or the proof."""
    ((file,), _) = library.read_all(catalog.read_files(pack)[0], str(pack))
    halves = [json.loads(line) for line in library.dump([file], "d").decode().splitlines()]
    carried = {key for half in (*halves[1], *halves[2:]) for key in half}
    assert {"id", "match", "summary", "guide", "examples"} <= carried
    assert set(Signature.model_fields) - {"schema_"} <= carried


def test_patterns_are_compiled_once(pack: Path) -> None:
    loaded = packs.catalog_of(pack)
    assert loaded.patterns("cat-on-keyboard") is loaded.patterns("cat-on-keyboard")
    assert loaded.patterns("cat-on-keyboard").pattern[0].search("cat on keyboard: key Q")


def test_literals_of_notices_are_not_scanned_for(pack: Path) -> None:
    notice = packs.edited(
        ("id: cat-on-keyboard", "id: a-cat-sleeps"),
        ("family: host", "family: notice"),
        ("role: initiator", "role: notice"),
        ("severity: fatal", "severity: notice\nharmless: it sleeps"),
        ("['cat on keyboard']", "['a cat sleeps', 'cat on keyboard']"),
    )
    loaded = packs.catalog_of(packs.write(pack, notice, "notice/a-cat-sleeps.yaml"))
    assert loaded.scan_literals == (b"cat on keyboard",)
    assert loaded.literals == (b"cat on keyboard", b"a cat sleeps")
    assert loaded.by_literal == (("a-cat-sleeps", "cat-on-keyboard"), ("a-cat-sleeps",))


def test_a_derived_finding_names_its_signatures(pack: Path) -> None:
    packs.write(
        pack,
        packs.edited(("  literals: ['cat on keyboard']", "  derived: [silent-end]\n  literals: ['cat on keyboard']")),
    )
    assert packs.catalog_of(pack).derived == {"silent-end": ("cat-on-keyboard",)}


def test_an_unknown_id_is_a_key_error(pack: Path) -> None:
    with pytest.raises(KeyError):
        packs.catalog_of(pack).get("dog")


def test_the_digest_follows_the_files(pack: Path, tmp_path: Path) -> None:
    same, other = packs.write(tmp_path / "same"), packs.write(tmp_path / "other", packs.edited(("walked", "ran")))
    assert packs.catalog_of(pack).digest == packs.catalog_of(same).digest != packs.catalog_of(other).digest


# ---------------------------------------------------------------- faults


def test_all_faults_of_all_files_are_told_at_once(pack: Path) -> None:
    packs.write(pack, packs.edited(("family: host", "family: hosts"), ("tags: ", "tag: ")), "host/a.yaml")
    packs.write(pack, "a: [\n", "host/b.yaml")
    _, faults = load_folder(pack)
    assert [(Path(fault.path).name, fault.field) for fault in faults] == [
        ("a.yaml", "family"),
        ("a.yaml", "tag"),
        ("b.yaml", "yaml"),
    ]


@pytest.mark.usefixtures("lone")
def test_a_faulty_pack_stops_the_load(pack: Path) -> None:
    packs.write(pack, packs.edited(("role: initiator", "role: initator")))
    with pytest.raises(CatalogError) as error:
        load_catalog([pack])
    assert told(error, pack) == [
        "host/cat-on-keyboard.yaml:5: role: found \"initator\", expected one of 'initiator', 'collateral', 'either', "
        "'witness' or 'notice' (hint: did you mean initiator?)"
    ]


@pytest.mark.usefixtures("lone")
def test_lenient_loads_the_good_files_and_keeps_the_faults(pack: Path) -> None:
    packs.write(pack, "schema: 1\n", "host/bad.yaml")
    loaded = load_catalog([pack], lenient=True)
    assert "cat-on-keyboard" in loaded.signatures
    assert {fault.field for fault in loaded.doubts} >= {"id", "title", "examples"}


def test_a_duplicate_id_names_both_files(pack: Path, tmp_path: Path) -> None:
    other = packs.write(tmp_path / "other")
    with pytest.raises(CatalogError) as error:
        build_catalog([found for folder in (pack, other) if (found := load_folder(folder)[0])])
    assert told(error, tmp_path) == [
        "other/host/cat-on-keyboard.yaml: id: found 'cat-on-keyboard', also defined by "
        "pack/host/cat-on-keyboard.yaml, expected an id of its own (hint: rename one file)"
    ]


@pytest.mark.usefixtures("lone")
def test_a_pack_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(CatalogError) as error:
        load_catalog([tmp_path / "nowhere"])
    assert told(error, tmp_path) == ["nowhere: pack: found no such folder, expected a folder of signature files"]


# ---------------------------------------------------------------- the cache


def is_cached(folder: Path) -> bool:
    """Tell whether loading a folder needs no YAML: the reader of YAML is made to fail."""
    original = library.build
    library.build = None  # type: ignore[assignment]
    try:
        load_folder(folder)
    except TypeError:
        return False
    finally:
        library.build = original
    return True


def test_a_pack_is_cached_and_loads_alike(pack: Path) -> None:
    first = packs.catalog_of(pack)
    assert is_cached(pack)
    second = packs.catalog_of(pack)
    assert (first.signatures, first.digest) == (second.signatures, second.digest)
    assert first.page("cat-on-keyboard") == second.page("cat-on-keyboard")


def test_a_changed_file_makes_the_cache_stale(pack: Path) -> None:
    packs.catalog_of(pack)
    packs.write(pack, packs.edited(("walked over", "sat upon on")))
    assert not is_cached(pack)
    assert packs.catalog_of(pack).get("cat-on-keyboard").title == "A cat sat upon on the keyboard"


@pytest.mark.parametrize("harm", [b"", b"\x00\xff", b"half", b"other bytes"])
def test_a_damaged_cache_is_ignored(pack: Path, cache: Path, harm: bytes) -> None:
    expected = packs.catalog_of(pack).signatures
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    file.write_bytes(
        whole[: len(whole) // 2]
        if harm == b"half"
        else whole.replace(b"A cat", b"A dog")
        if harm == b"other bytes"
        else harm
    )
    assert packs.catalog_of(pack).signatures == expected


def test_a_cache_that_cannot_be_written_is_done_without(pack: Path, cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be")
    assert "cat-on-keyboard" in packs.catalog_of(pack).signatures


def test_a_faulty_pack_is_not_cached(pack: Path, cache: Path) -> None:
    packs.write(pack, "schema: 1\n", "host/bad.yaml")
    load_folder(pack)
    assert not cache.exists()


def _load(folder: Path) -> int:
    return len(packs.catalog_of(folder).signatures)


def test_two_processes_at_once_are_safe(pack: Path, cache: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(_load, [pack] * 6) == [1] * 6
    assert len(list(cache.iterdir())) == 1


# ---------------------------------------------------------------- the wheel's file, and the start


def test_the_wheels_file_gives_the_same_records(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, _ = catalog.read_files(pack)
    data, _ = library.build(files, "signatures", catalog.pack_digest(files))
    built = tmp_path / "library.jsonl"
    built.write_bytes(data)
    monkeypatch.setattr(catalog, "BUILT", built)
    assert load_catalog().signatures == packs.catalog_of(pack).signatures
    assert load_catalog().digest == packs.catalog_of(pack).digest


@pytest.mark.parametrize(
    "data", [b"", b"{}\n", b'{"format":0,"digest":"","count":0}\n[]\n', b'{"format":1,"digest":"","count":3}\n[]\n']
)
def test_another_file_is_not_taken_for_a_library(data: bytes) -> None:
    with pytest.raises((ValueError, KeyError)):
        catalog.parse_pack(data, "x")


def test_loading_what_is_cached_imports_nothing_heavy(pack: Path) -> None:
    packs.catalog_of(pack)
    code = (
        "import sys; from pathlib import Path; from logsig.catalog import load_folder, build_catalog;"
        f"found, _ = load_folder(Path({str(pack)!r})); build_catalog([found]);"
        "print(sorted({'pydantic', 'yaml', 'regex', 'jinja2', 'click', 'importlib.metadata'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


def test_the_library_loads() -> None:
    loaded = load_catalog()
    assert len(loaded.signatures) >= 100
    assert all(Path(loaded.file(name)).is_file() for name in loaded.signatures)


# ---------------------------------------------------------------- packs built to harm


def faults_of(folder: Path) -> list[str]:
    with pytest.raises(CatalogError) as raised:
        load_catalog([folder])
    return [str(fault).replace(str(folder), "pack") for fault in raised.value.faults]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a FIFO needs POSIX")
def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack")
    os.mkfifo(folder / "host" / "fifo.yaml")
    (folder / "host" / "zero.yaml").symlink_to("/dev/zero")
    (folder / "host" / "gone.yaml").symlink_to("/nonexistent")
    assert faults_of(folder) == [
        "pack/host/fifo.yaml: file: found no regular file, expected a file of at most 1048576 bytes",
        "pack/host/gone.yaml: file: found no such file or directory, expected a file of at most 1048576 bytes",
        "pack/host/zero.yaml: file: found no regular file, expected a file of at most 1048576 bytes",
    ]
    assert "cat-on-keyboard" in load_catalog([folder], lenient=True).signatures


def test_a_huge_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack")
    with (folder / "host" / "huge.yaml").open("wb") as file:
        file.truncate(1 << 40)
    assert faults_of(folder) == [
        "pack/host/huge.yaml: file: found more than 1048576 bytes, expected a file of at most 1048576 bytes"
    ]


@pytest.mark.usefixtures("lone")
@pytest.mark.parametrize("limit", ["MAX_FILES", "MAX_PACK"])
def test_too_large_a_pack_is_not_read(limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, limit, 3)
    for number in range(9):
        packs.write(tmp_path / "pack", "a", f"host/{number}.yaml")
    (fault,) = faults_of(tmp_path / "pack")
    assert fault.startswith("pack: pack: found 4 files, 4 bytes and more, expected at most ")


CAPTURES = "".join(f"  k{number}: x\n" for number in range(60_000))
HOSTILE = {
    "literals": ("literals: [", "literals: [" + ", ".join(f"'cat {number}'" for number in range(50_000)) + ", "),
    "unknown keys": ("tags: ", "".join(f"k{number}: 1\n" for number in range(60_000)) + "tags: "),
    "unknown captures": ("captures:\n", f"captures:\n{CAPTURES}"),
    "nested pattern": ("pattern: 'cat", f"pattern: '{'(' * 1500}cat{')' * 1500}|cat"),
    "long pattern": ("pattern: 'cat", f"pattern: '{'a?' * 9000}|cat"),
    "long step": ('steps: ["', f'steps: ["{"{{ key }}" * 9000}'),
    "many steps": ("steps: [", f"steps: [{'x, ' * 9000}"),
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_would_cost_too_much_is_refused_soon(change: tuple[str, str], tmp_path: Path) -> None:
    folder = packs.write(tmp_path / "pack", packs.edited(change))
    started = time.process_time()
    assert 1 <= len(faults_of(folder)) <= library.MAX_FAULTS + 1
    assert time.process_time() - started < 8

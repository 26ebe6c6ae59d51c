"""Packs of installed distributions: found by metadata, read as data, never imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import packs
import pytest

from logsig import installed, load_catalog
from logsig.errors import CatalogError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(installed.SWITCH, raising=False)
    return tmp_path / "cache" / "logsig" / "packs.json"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with one that brings a pack and must not be imported."""
    folder = tmp_path / "site-packages"
    packs.write(folder / "acme_cats" / "signatures")
    (folder / "acme_cats" / "__init__.py").write_text("raise SystemExit('imported')\n")
    install(folder, "acme_cats-1.0", "cats = acme_cats\n")
    monkeypatch.syspath_prepend(str(folder))
    return folder


def install(folder: Path, distribution: str, entries: str) -> None:
    metadata = folder / f"{distribution}.dist-info"
    metadata.mkdir(parents=True)
    text = f"[console_scripts]\ncat = acme_cats:main\n\n[{installed.GROUP}]\n# a comment\n{entries}\n[other]\nx = y\n"
    (metadata / "entry_points.txt").write_text(text)


@pytest.mark.usefixtures("site")
def test_a_pack_of_an_installed_distribution_is_in_the_catalog() -> None:
    assert "cat-on-keyboard" in load_catalog().signatures
    assert "acme_cats" not in sys.modules


@pytest.mark.usefixtures("site")
def test_the_switch_leaves_it_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(installed.SWITCH, "off")
    assert "cat-on-keyboard" not in load_catalog().signatures


def test_the_same_folder_twice_is_one_pack(site: Path) -> None:
    assert "cat-on-keyboard" in load_catalog((site / "acme_cats" / "signatures",)).signatures


def test_a_package_inside_another_is_found_without_importing_either(site: Path) -> None:
    packs.write(site / "acme_cats" / "deep" / "signatures")
    install(site, "deep-1.0", "deep = acme_cats.deep\n")
    found = installed.find([str(site)])
    assert [folder.relative_to(site).as_posix() for folder in found.folders] == [
        "acme_cats/signatures",
        "acme_cats/deep/signatures",
    ]
    assert "acme_cats" not in sys.modules


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("bad = acme_cats:load", "bad: found 'acme_cats:load', expected the name of a package"),
        ("bad = ../../etc", "bad: found '../../etc', expected the name of a package"),
        (
            "bad = nowhere_to_be_found",
            "bad: found no nowhere_to_be_found/signatures, expected a folder of signature files",
        ),
        ("bad = acme_cats.none", "bad: found no acme_cats/none/signatures, expected a folder of signature files"),
    ],
)
def test_what_names_no_pack_is_a_fault_with_its_place(site: Path, entry: str, said: str) -> None:
    install(site, "bad-1.0", entry)
    with pytest.raises(CatalogError) as raised:
        load_catalog()
    assert f"bad-1.0.dist-info/entry_points.txt: {said}" in str(raised.value)
    assert "cat-on-keyboard" in load_catalog(lenient=True).signatures


def test_a_faulty_file_of_a_pack_stops_the_load(site: Path) -> None:
    packs.write(site / "acme_cats" / "signatures", packs.edited(("role: initiator", "role: hero")))
    with pytest.raises(CatalogError, match=r"acme_cats/signatures/host/cat-on-keyboard\.yaml:5: role: "):
        load_catalog()


def test_an_unchanged_folder_is_not_read_again(site: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = installed.find([str(site)], cache)
    monkeypatch.setattr(installed, "_scan", lambda _folder: pytest.fail("read again"))
    assert installed.find([str(site)], cache) == first


def test_a_changed_folder_is_read_again(site: Path, cache: Path) -> None:
    installed.find([str(site)], cache)
    packs.write(site / "acme_dogs" / "signatures")
    install(site, "acme_dogs-1.0", "dogs = acme_dogs\n")
    assert len(installed.find([str(site)], cache).folders) == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 0}', '{"format": 1}', "null", '{"format": 1, "folders": {"x": 5}}']
)
def test_a_broken_cache_is_no_matter(site: Path, cache: Path, text: str) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text(text)
    assert len(installed.find([str(site)], cache).folders) == 1


def test_the_current_folder_brings_nothing(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(site)
    assert installed.find(["", str(site)]).folders == ()


def test_nothing_slow_is_imported_to_look(site: Path) -> None:
    code = (
        "import sys; from logsig import load_catalog; found = 'cat-on-keyboard' in load_catalog().signatures;"
        "print(found, 'acme_cats' in sys.modules, 'importlib.metadata' in sys.modules)"
    )
    env = {"PYTHONPATH": f"{site}:{Path(__file__).parents[1]}", "XDG_CACHE_HOME": str(site.parent / "cache")}
    for _ in range(2):  # the first run checks the files, with pydantic; the second finds them checked
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env, cwd="/"
        )
    assert done.stdout == "True False False\n"


def test_a_current_folder_that_is_gone_is_no_matter(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert len(installed.find([".", str(site)]).folders) == 1

"""The script that reads a torch wheel: what it finds where, and what it doesn't call gone."""

from __future__ import annotations

import runpy
import zipfile
from pathlib import Path
from typing import Any

import packs
import pytest

from logsig.catalog import Catalog

SCRIPT = Path(__file__).parents[1] / "fixtures" / "wording" / "check_wheel.py"

PYTHON = """
class CatError(RuntimeError): pass
def stop(rank):
    raise CatError("the cat on the keyboard "
                   "pressed every key")
def told(rank):
    raise CatError(f"the cat of rank {rank} sat down on the warm machine")
def summed():
    print("the cat went " + "out of the door")
"""
LITERALS = {
    "cat in the library": "said",
    "the cat on the keyboard pressed every key": "said",
    "the cat went out of the door": "said",
    "the cat of rank 3 sat down on the warm machine": "in pieces",
    "the cat of old, long gone": "older",
    "the cat that nobody finds": "gone",
    "the cat without a version": "untold",
    "the cat of Open MPI": "not torch's",
    "the cat in the NCCL tree": "not checked",
}


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "torch-2.13.0+cpu-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("torch/lib/libtorch_cpu.so", b"\x7fELF" + b"\0" * 9000 + b"cat in the library\0" + b"\0" * 9000)
        file.writestr("torch/stop.py", PYTHON)
        file.writestr("torch/broken.py", "def :")
        file.writestr("torch/test/liar.py", '"the cat that nobody finds"')
        file.writestr(
            "torch-2.13.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0+cpu\n\ntext\n"
        )
    return path


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """One signature of torch with every literal, and an example of the versions for each."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    wordings = {"older": "torch 1.6 to 1.8", "gone": "torch 1.6 to 2.13", "not torch's": "Open MPI 4"}
    examples = "".join(
        f"  - name: cat-{number}\n    wording: '{wordings.get(state, '')}'\n    log: |\n      RuntimeError: {literal}\n"
        for number, (literal, state) in enumerate(LITERALS.items())
    ).replace("    wording: ''\n", "")
    text = packs.edited(
        ("['cat on keyboard']", repr(list(LITERALS))),
        ("versions: {cat: '>=1'}", "versions: {torch: '>=1.6'}"),
        ("\nexamples:\n", f"\nexamples:\n{examples}"),
    )
    return packs.catalog_of(packs.write(tmp_path / "pack", text))


def test_every_literal_gets_its_state(script: dict[str, Any], wheel: Path, catalog: Catalog) -> None:
    findings = script["check"](script["Wheel"](wheel), catalog)
    assert {finding.literal: finding.state for finding in findings} == LITERALS


def test_the_wheel_tells_its_version_and_that_it_has_no_devices(script: dict[str, Any], wheel: Path) -> None:
    read = script["Wheel"](wheel)
    assert (read.version, read.has_devices) == ("2.13.0+cpu", False)


def test_with_device_libraries_nothing_is_left_unchecked(script: dict[str, Any], wheel: Path, catalog: Catalog) -> None:
    with zipfile.ZipFile(wheel, "a") as file:
        file.writestr("torch/lib/libtorch_cuda.so", b"the cat in the NCCL tree\0")
    states = {finding.literal: finding.state for finding in script["check"](script["Wheel"](wheel), catalog)}
    assert states["the cat in the NCCL tree"] == "said"


def test_a_signature_is_lost_only_when_nothing_of_it_is_left(script: dict[str, Any], catalog: Catalog) -> None:
    finding = script["Finding"]
    gone = finding("the cat that nobody finds", "gone", ("cat-on-keyboard",))
    old = finding("the cat of old, long gone", "older", ("cat-on-keyboard",))
    here = finding("cat in the library", "said", ("cat-on-keyboard",))
    assert script["lost"]([gone, old], catalog) == ["cat-on-keyboard"]
    assert script["lost"]([gone, here], catalog) == []
    assert script["lost"]([old], catalog) == []


def test_a_literal_over_the_cut_of_two_chunks_is_found(script: dict[str, Any], wheel: Path) -> None:
    read = script["Wheel"](wheel)
    script["said"].__globals__["CHUNK"] = 9010
    assert script["said"](read, ["cat in the library"]) == {"cat in the library"}


@pytest.mark.parametrize(
    ("wording", "last"),
    [
        ("torch 1.6 to 1.8", (1, 8)),
        ("torch 1.10", (1, 10)),
        ("torch 2.6 and later", None),
        ("torch 2.x", None),
        (">=1.6", None),
        ("Open MPI", None),
    ],
)
def test_the_last_version_of_a_wording_is_read(
    script: dict[str, Any], wording: str, last: tuple[int, int] | None
) -> None:
    assert script["last_version"](wording) == last


def test_the_report_names_what_is_gone(script: dict[str, Any], wheel: Path, catalog: Catalog) -> None:
    read = script["Wheel"](wheel)
    lines = list(script["report"](read, script["check"](read, catalog), []))
    assert lines[0] == "torch 2.13.0+cpu, without device libraries, 9 literals:"
    assert "  cat-on-keyboard: 'the cat that nobody finds' (torch 1.6 to 2.13)" in lines
    assert lines[-1] == "\nsignatures of which nothing is left: none"

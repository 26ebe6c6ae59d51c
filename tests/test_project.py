"""The project's own promises: one version, one test command, a library that travels in the wheel."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import logsig
from logsig import catalog, library

ROOT = Path(__file__).parents[1]


def project() -> dict[str, object]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def test_the_version_stands_in_one_place() -> None:
    assert project()["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", logsig.__version__)


def test_the_ci_runs_the_readmes_test_command() -> None:
    command = (ROOT / ".ci" / "run").read_text(encoding="utf-8").strip().splitlines()[-1]
    assert command.endswith(".venv/bin/python -m pytest -q -n auto")
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_extra_engine_has_a_fallback() -> None:
    """A dependency that has no wheel somewhere is named with the condition under which it is wanted."""
    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)
    conditional = {line.partition(";")[0].partition(">")[0].strip() for line in dependencies if ";" in line}
    assert conditional == {"hyperscan", "backports.zstd"}


def test_every_make_target_of_check_is_a_command_of_its_own() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    check = re.search(r"^check:(.*?)##", makefile, re.MULTILINE)
    assert check is not None
    assert check[1].split() == ["format", "lint", "types", "test", "signatures"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in check[1].split())


@pytest.fixture
def hook(tmp_path: Path) -> tuple[dict[str, dict[str, str]], object]:
    pytest.importorskip("hatchling")
    sys.path.insert(0, str(ROOT))
    try:
        from hatch_build import LibraryHook
    finally:
        sys.path.remove(str(ROOT))
    build_data: dict[str, dict[str, str]] = {"force_include": {}}
    made = LibraryHook(str(ROOT), {}, None, None, str(tmp_path), "wheel")
    return build_data, made


def test_the_wheel_carries_the_library_as_files_and_as_json(hook: tuple) -> None:
    build_data, made = hook
    made.initialize("standard", build_data)
    built = {inside: Path(outside) for outside, inside in build_data["force_include"].items()}
    assert set(built) == {f"logsig/_library/{name}" for name in ("library.jsonl", "prefixes.json", "signatures")}
    pack = catalog.parse_pack(built["logsig/_library/library.jsonl"].read_bytes(), "x")
    assert {entry.id: entry for entry in pack.entries} == dict(logsig.load_catalog().signatures)
    made.finalize("standard", build_data, "")
    assert not built["logsig/_library/library.jsonl"].exists()


def test_the_build_asks_for_all_that_it_imports() -> None:
    """An isolated build has nothing else: what the library's reader imports must be named."""
    code = (
        "import json, sys; from importlib import metadata; from pathlib import Path; "
        "from logsig import catalog, dialects, library; "
        "library.build({}, 'x', 'd', is_ours=True); dialects.build(); "
        "print(json.dumps([{name.partition('.')[0] for name in sys.modules} "
        "& set(metadata.packages_distributions()), metadata.packages_distributions()], default=sorted))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    modules, owners = json.loads(found.stdout)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    asked = {_name(one) for one in project["build-system"]["requires"]}
    missing = {owner for module in modules for owner in owners[module] if _name(owner) not in _with_needs(asked)}
    assert missing - {"logsig", "pip", "setuptools"} == set()
    assert "jinja2" in asked


def _name(requirement: str) -> str:
    return re.split(r"[^\w-]", requirement)[0].lower().replace("_", "-")


def _with_needs(names: set[str]) -> set[str]:
    """Adds what these distributions need themselves."""
    needs = {_name(one) for name in names for one in metadata.requires(name) or () if "extra ==" not in one}
    more = {need for need in needs - names if _is_installed(need)}
    return _with_needs(names | more) if more else names


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def test_an_editable_install_reads_the_checkout(hook: tuple) -> None:
    build_data, made = hook
    made.initialize("editable", build_data)
    assert build_data == {"force_include": {}}


def test_a_faulty_signature_stops_the_build(hook: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    build_data, made = hook
    fault = library.Fault("x.yaml", 1, "id", "nothing", "this field")
    monkeypatch.setattr(library, "build", lambda *_, **__: (b"", (fault,)))
    with pytest.raises(catalog.CatalogError, match=r"x\.yaml:1: id: found nothing, expected this field"):
        made.initialize("standard", build_data)


def test_the_version_is_told_without_loading_anything() -> None:
    code = "import sys, logsig; print(sorted({'pydantic', 'click', 'yaml', 'regex', 'importlib.metadata'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout == "[]\n"

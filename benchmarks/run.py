"""One command, one table: logsig beside other tools, on inputs made here. Ratios hold from machine to machine; seconds don't.

    python benchmarks/run.py --mb 250 --runs 3

Every tool is run in turn, several times; the table shows the median and the peak memory of one process.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
DATA = ROOT / "benchmarks" / "data"
RANKS = 64
BLOCK = 1 << 20
LOGSIG = [sys.executable, "-m", "logsig"]


@dataclass
class Tool:
    """A command, and how it fared."""

    name: str
    command: str
    against: str | None = None
    """The tool that its time is compared with."""
    seconds: list[float] = field(default_factory=list)
    peak: int = 0


# ---------------------------------------------------------------- inputs


def make_log(path: Path, megabytes: int) -> Path:
    """Write a training log of many ranks that ends in a failure; the same bytes every time."""
    if not path.exists():
        with path.open("wb") as out:
            for block in _blocks(megabytes):
                out.write(block)
            out.write(_failure())
    return path


def _blocks(megabytes: int) -> Iterator[bytes]:
    chance = random.Random(1)
    step = 0
    for _ in range(megabytes):
        lines, size = [], 0
        while size < BLOCK:
            rank = len(lines) % RANKS
            step += rank == 0
            loss = 2 + chance.random()
            line = f"[rank{rank}]: 2025-03-01 10:{step // 60 % 60:02}:{step % 60:02},123 INFO step {step} loss {loss:.4f} lr 1.2e-04 tok/s 41234\n"
            lines.append(line)
            size += len(line)
        yield "".join(lines).encode()


def _failure() -> bytes:
    from logsig import load_catalog

    return load_catalog().proof("cuda-oom").examples[0].log.encode() + b"\n"


def make_literals(path: Path) -> Path:
    """Write all literals that logsig scans for, one a line, for the searchers."""
    from logsig import load_catalog

    path.write_bytes(b"\n".join(load_catalog().scan_literals) + b"\n")
    return path


# ---------------------------------------------------------------- the bare loop


def bare(path: str) -> None:
    """Read, find literals, count newlines: what no Python program with this engine can undercut."""
    from logsig import load_catalog
    from logsig.engine import make_engine

    engine = make_engine([literal.decode() for literal in load_catalog().scan_literals])
    hits = newlines = 0
    with open(path, "rb", buffering=0) as log:
        while block := log.read(4 << 20):
            hits += len(engine.find(block))
            newlines += block.count(b"\n")
    print(hits, newlines)


# ---------------------------------------------------------------- measuring


def measure(tools: list[Tool], runs: int) -> None:
    """Run all tools in turn, so that a busy moment of the machine hits all alike."""
    for _ in range(runs):
        for tool in tools:
            start = time.perf_counter()
            process = subprocess.Popen(tool.command, shell=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            tool.seconds.append(time.perf_counter() - start)
            tool.peak = max(tool.peak, usage.ru_maxrss)


def table(tools: list[Tool]) -> str:
    """Lay out medians, ratios and memory."""
    median = {tool.name: statistics.median(tool.seconds) for tool in tools}
    rows = [f"{'':38} {'seconds':>8} {'MB':>6}  ratio"]
    for tool in tools:
        ratio = f"{median[tool.name] / median[tool.against]:.2f} x {tool.against}" if tool.against else ""
        rows.append(f"{tool.name:38} {median[tool.name]:8.2f} {tool.peak // 1024:6}  {ratio}".rstrip())
    return "\n".join(rows)


def tools_for(log: Path, literals: Path, small: Path, packed: Path) -> list[Tool]:
    """List what is installed here."""
    logsig = " ".join(LOGSIG)
    python = sys.executable
    found = [
        Tool("wc -l", f"wc -l {log}"),
        Tool("read, literals, newlines (bare)", f"{python} {__file__} --bare {log}"),
        Tool("logsig", f"{logsig} {log}", "read, literals, newlines (bare)"),
        Tool("logsig --jobs 1", f"{logsig} --jobs 1 {log}", "read, literals, newlines (bare)"),
    ]
    if shutil.which("rg"):
        found.append(Tool("rg -c -F -f, as many literals", f"rg -c -F -f {literals} {log}", "logsig"))
    if shutil.which("grep"):
        found.append(Tool("grep -c -F -f, as many literals", f"LC_ALL=C grep -c -F -f {literals} {log}", "logsig"))
    return [
        *found,
        Tool("zcat | logsig", f"zcat {packed} | {logsig}"),
        Tool("logsig on gzip", f"{logsig} {packed}", "zcat | logsig"),
        Tool("import click", f"{python} -c 'import click'"),
        Tool("logsig --version", f"{logsig} --version", "import click"),
        Tool("import click, jinja2, pydantic", f"{python} -c 'import click, jinja2, pydantic'"),
        Tool("logsig on 1 MB", f"{logsig} {small}", "import click, jinja2, pydantic"),
    ]


def main() -> None:
    """Make the inputs, measure, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mb", type=int, default=250, help="size of the large log (default: 250)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each tool (default: 3)")
    parser.add_argument("--bare", metavar="LOG", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        bare(options.bare)
        return
    DATA.mkdir(exist_ok=True)
    log, small = make_log(DATA / f"train-{options.mb}.log", options.mb), make_log(DATA / "train-1.log", 1)
    packed = Path(f"{log}.gz")
    if not packed.exists():
        with log.open("rb") as plain, gzip.open(packed, "wb", 1) as out:
            shutil.copyfileobj(plain, out, BLOCK)
    tools = tools_for(log, make_literals(DATA / "literals.txt"), small, packed)
    os.chdir(ROOT)
    measure(tools, options.runs)
    print(f"{options.mb} MB, {RANKS} ranks, {options.runs} runs each, median\n\n{table(tools)}")


if __name__ == "__main__":
    main()

"""Ratios of logsig beside other tools, on inputs made here: one table.

usage: run.py [--size MEGABYTES] [--rounds N] [--folder DIR] [--breadth | --large | --calls]

Seconds depend on the machine and its mood; the ratios hold better, those of CPU seconds best. So all tools run in turn,
several rounds, and the median of each counts. ``--breadth`` prints how time grows with ranks, signatures and attempts;
``--large`` the memory that 10 GB and a line of 2 GB take; ``--calls`` counts calls of Python functions on fixed inputs,
which no mood changes: run it before and after a change. What runs is logsig as pip installs it.
"""

from __future__ import annotations

import argparse
import gzip
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import logs

HERE = Path(__file__).parent
PYTHON = sys.executable
MEGA = 1_000_000
SITE = "site"
"""Where logsig is installed for the runs."""


class Contestant(NamedTuple):
    """One command."""

    name: str
    command: str
    base: str
    """Name of the one it is measured against."""
    wanted: float | None = None
    """Ratio to the base that must not be passed."""
    log: str = ""
    """What it reads, for MB/s."""


class Result(NamedTuple):
    """What one run took."""

    seconds: float
    cpu: float
    """Seconds of all its processes on a core: a machine that does other work as well lengthens these least."""
    peak: int
    """Kilobytes, of the largest process."""


def main() -> None:
    """Runs what was asked for."""
    options = _options()
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="logsig-bench-") as folder:
        if options.calls:
            count_calls(Path(folder))
            return
        install(Path(folder))
        if options.large:
            large(Path(folder))
        elif options.breadth:
            breadth(Path(folder))
        else:
            compare(Path(folder), options.size * MEGA, options.rounds)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1000, help="megabytes of the large log (default 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each command (default 5)")
    parser.add_argument("--folder", help="where the inputs go, some gigabytes (default: the temporary folder)")
    parser.add_argument("--breadth", action="store_true", help="growth with ranks, signatures and attempts instead")
    parser.add_argument("--large", action="store_true", help="memory on very large inputs instead; 14 GB of disk")
    parser.add_argument("--calls", action="store_true", help="numbers of Python calls instead")
    return parser.parse_args()


def install(folder: Path) -> None:
    """Installs this checkout into the folder: a wheel has its library as JSON, and compiled modules."""
    target = folder / SITE
    pip = [PYTHON, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, str(HERE.parent)], check=True)  # noqa: S603  (our own words)


# ---------------------------------------------------------------- beside other tools


def compare(folder: Path, size: int, rounds: int) -> None:
    """Prints the table of ratios."""
    literals = _literals(folder)
    logs.write(folder / "big.log", logs.training(size))
    logs.write(folder / "mega.log", logs.training(MEGA))
    logs.write(folder / "storm.log", logs.storm(size // 4))
    _pack(folder / "big.log", folder / "big.log.gz")
    contestants = [one for one in _contestants(folder, literals) if _is_installed(one.command)]
    results: dict[str, list[Result]] = {one.name: [] for one in contestants}
    for _ in range(rounds):
        for one in contestants:
            results[one.name].append(run(one.command, folder))
    _print_table(contestants, results, folder)


def _contestants(folder: Path, literals: Path) -> list[Contestant]:
    logsig = f"{PYTHON} -m logsig diagnose"
    number = len(literals.read_bytes().splitlines())
    print(f"{number} literals, {(folder / 'big.log').stat().st_size / MEGA:.0f} MB, {os.cpu_count()} cores\n")
    logs.write(folder / "slow.log", logs.training(20 * MEGA))
    _split(folder / "big.log", folder / "ranks")
    without = "import sys; sys.modules['hyperscan'] = None; from logsig.cli import main; main()"
    return [
        Contestant("logsig", f"{logsig} big.log", "rg", 1 / 3, "big.log"),
        Contestant("logsig --jobs 1", f"{logsig} --jobs 1 big.log", "rg", 1 / 2, "big.log"),
        Contestant("logsig, one core", f"taskset -c 0 {logsig} big.log", "rg", None, "big.log"),
        Contestant("logsig, two cores", f"taskset -c 0,1 {logsig} big.log", "logsig, one core", 1 / 1.5, "big.log"),
        Contestant("per rank, one core", f"taskset -c 0 {logsig} ranks", "rg", None, "big.log"),
        Contestant("per rank, two cores", f"taskset -c 0,1 {logsig} ranks", "per rank, one core", 1 / 1.5, "big.log"),
        Contestant("logsig, to the loop", f"{logsig} --jobs 1 big.log", "bare loop", 1.5, "big.log"),
        Contestant("bare loop", f"{PYTHON} {HERE / 'bare.py'} literals.txt big.log", "rg", None, "big.log"),
        Contestant("rg", "rg -c -F -f literals.txt big.log", "rg", None, "big.log"),
        Contestant("grep", "grep -c -F -f literals.txt big.log", "rg", None, "big.log"),
        Contestant("wc -l", "wc -l big.log", "rg", None, "big.log"),
        Contestant("logsig, pipe", f"cat big.log | {logsig} -", "rg", None, "big.log"),
        Contestant("logsig, gzip", f"{logsig} big.log.gz", "zcat | logsig", 0.9, "big.log"),
        Contestant("zcat | logsig", f"zcat big.log.gz | {logsig} -", "zcat | logsig", None, "big.log"),
        Contestant("logsig, storm", f"{logsig} storm.log", "rg, storm", None, "storm.log"),
        Contestant("rg, storm", "rg -c -F -f literals.txt storm.log", "rg, storm", None, "storm.log"),
        Contestant("logsig, 20 MB", f"{logsig} slow.log", "Drain3, 20 MB", None, "slow.log"),
        Contestant("Drain3, 20 MB", f"{PYTHON} {HERE / 'drain.py'} slow.log", "Drain3, 20 MB", None, "slow.log"),
        Contestant("lnav, 20 MB", "lnav -n -q -c ':filter-in Traceback' slow.log", "lnav, 20 MB", None, "slow.log"),
        Contestant("no hyperscan, 20 MB", f'{PYTHON} -c "{without}" slow.log', "logsig, 20 MB", None, "slow.log"),
        Contestant("logsig --version", f"{PYTHON} -m logsig --version", "import click", 1.5),
        Contestant("import click", f"{PYTHON} -c 'import click'", "import click"),
        Contestant("logsig, 1 MB", f"{logsig} mega.log", "three imports", 2.0, "mega.log"),
        Contestant("three imports", f"{PYTHON} -c 'import click, jinja2, pydantic'", "three imports"),
    ]


def _is_installed(command: str) -> bool:
    if "drain.py" in command:
        return find_spec("drain3") is not None
    return shutil.which(command.split(maxsplit=1)[0]) is not None


def run(command: str, folder: Path) -> Result:
    """Runs a command line of a shell and waits for all of it."""
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  (commands of this file)
        ["/bin/sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / SITE)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    return Result(time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def _print_table(contestants: Sequence[Contestant], results: dict[str, list[Result]], folder: Path) -> None:
    medians = {name: statistics.median(one.seconds for one in found) for name, found in results.items()}
    cpu = {name: statistics.median(one.cpu for one in found) for name, found in results.items()}
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    print(f"load of the machine: {load}\n")
    print(f"{'':22} {'seconds':>8} {'of CPU':>7} {'MB/s':>6} {'peak MB':>8}   ratio, of CPU")
    for one in contestants:
        seconds = medians[one.name]
        peak = max(found.peak for found in results[one.name]) / 1000
        speed = f"{(folder / one.log).stat().st_size / MEGA / seconds:6.0f}" if one.log else " " * 6
        row = f"{one.name:22} {seconds:8.2f} {cpu[one.name]:7.2f} {speed} {peak:8.0f}"
        if one.base in medians and one.base != one.name:
            wanted = f"  (wanted: at most {one.wanted:.2f})" if one.wanted else ""
            row += f"   {seconds / medians[one.base]:.2f}, {cpu[one.name] / cpu[one.base]:.2f} x {one.base}{wanted}"
        print(row)


def _literals(folder: Path) -> Path:
    """Asks another process: what this one holds would count as the peak of its children."""
    code = "import sys, logsig; sys.stdout.buffer.write(b'\\n'.join(logsig.load_catalog().scan_literals) + b'\\n')"
    path = folder / "literals.txt"
    path.write_bytes(subprocess.check_output([PYTHON, "-c", code], cwd=HERE.parent))  # noqa: S603  (code of this file)
    return path


def _split(log: Path, folder: Path) -> None:
    """Gives each rank a file of its own, as torchrun's ``--log-dir`` does."""
    folder.mkdir()
    files = [(folder / f"rank_{rank}.log").open("wb", buffering=1 << 16) for rank in range(logs.RANKS)]
    with log.open("rb") as source:
        for line in source:
            rank = line[5 : line.find(b"]", 5, 9)] if line.startswith(b"[rank") else b"0"
            files[int(rank)].write(line)
    for file in files:
        file.close()


def _pack(log: Path, packed: Path) -> None:
    with log.open("rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target, 1 << 20)


# ---------------------------------------------------------------- memory


def large(folder: Path) -> None:
    """Prints time and memory of a log of 10 GB, of one line of 2 GB, and of that line from a pipe."""
    with (folder / "ten.log").open("wb") as ten, (folder / "line.log").open("wb") as line:
        for number in range(10):
            for piece in logs.training(1000 * MEGA):
                ten.write(piece)
                if number < 2:
                    line.write(piece.replace(b"\n", b" "))
    for name in ("ten.log", "line.log"):
        for words in (f"diagnose {name}", f"diagnose --jobs 1 {name}"):
            _tell_memory(words, f"{PYTHON} -m logsig {words}", folder)
    _tell_memory("diagnose - < line.log", f"cat line.log | {PYTHON} -m logsig diagnose -", folder)


def _tell_memory(name: str, command: str, folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(folder / SITE)}
    start = time.perf_counter()
    words = ["/bin/sh", "-c", command]
    process = subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL)  # noqa: S603
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_share, _family(process.pid))))
        time.sleep(0.02)
    print(f"{name:28} {time.perf_counter() - start:6.1f} s {peak / 1000:6.0f} MB")


def _family(process: int) -> list[int]:
    """Gives a process and all below it."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:
        return []
    return [process, *(one for child in children for one in _family(int(child)))]


def _share(process: int) -> int:
    """Gives the kilobytes of a process, of pages shared with others its part."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


# ---------------------------------------------------------------- growth


def breadth(folder: Path) -> None:
    """Prints how the time grows where a job grows, with the exponent: 1 is linear."""
    logsig = f"{PYTHON} -m logsig diagnose --jobs 1"
    for count in (64, 1024, 16384):
        logs.write(folder / f"ranks-{count}.log", logs.training(64 * MEGA, ranks=count))
    _growth("ranks", {count: f"{logsig} ranks-{count}.log" for count in (64, 1024, 16384)}, folder)
    for count in (1, 10, 100):
        logs.write(folder / f"attempts-{count}.log", logs.training(64 * MEGA, attempts=count))
    _growth("attempts", {count: f"{logsig} attempts-{count}.log" for count in (1, 10, 100)}, folder)
    for count in (100, 400, 1600):
        logs.write(folder / f"size-{count}.log", logs.training(count * MEGA))
    _growth("megabytes", {count: f"{logsig} size-{count}.log" for count in (100, 400, 1600)}, folder)
    for count in (150, 600, 2000):
        _pack_of(folder / f"pack-{count}", count)
    commands = {count: f"{logsig} --signatures pack-{count} size-100.log" for count in (150, 600, 2000)}
    _growth("signatures", commands, folder)


def _growth(what: str, commands: dict[int, str], folder: Path) -> None:
    for command in commands.values():
        run(command, folder)  # caches warm
    times = {count: min(run(command, folder).seconds for _ in range(3)) for count, command in commands.items()}
    counts = sorted(times)
    exponent = math.log(times[counts[-1]] / times[counts[0]]) / math.log(counts[-1] / counts[0])
    row = ", ".join(f"{count:,}: {times[count]:.2f} s" for count in counts)
    print(f"{what:12} {row}   exponent {exponent:.2f}")


def _pack_of(folder: Path, count: int) -> None:
    """Writes signatures that no log matches."""
    folder.mkdir()
    for number in range(count):
        text = f"made-up failure number {number} of subsystem {number * 7919 % 10007}"
        (folder / f"made-up-{number}.yaml").write_text(
            f"""schema: 1
id: made-up-{number}
title: A failure made up for a benchmark
family: host
role: initiator
severity: error
since: 0.1.0
summary: Made up.
explanation: Made up.
match:
  literals: ["{text}"]
examples:
  - name: one
    log: "{text}\\n"
counterexamples:
  - name: other
    why: says nothing of the kind
    log: "all is well\\n"
"""
        )


# ---------------------------------------------------------------- counts


def count_calls(folder: Path) -> None:
    """Prints how many Python functions each module of logsig calls for three inputs."""
    sys.path.insert(0, str(HERE.parent))
    from logsig import analyze, load_catalog

    catalog = load_catalog()
    inputs = {
        "training, 16 MB": logs.write(folder / "training.log", logs.training(16 * MEGA)),
        "small, 0.2 MB": logs.write(folder / "small.log", logs.training(MEGA // 5)),
        "storm, 8 MB": logs.write(folder / "storm.log", logs.storm(8 * MEGA)),
    }
    analyze([str(inputs["small, 0.2 MB"])], catalog, jobs=1)  # what is compiled once
    for name, path in inputs.items():
        calls: dict[str, int] = {}

        def count(frame: object, event: str, _argument: object, calls: dict[str, int] = calls) -> None:
            if event == "call":
                module = str(getattr(frame, "f_globals", {}).get("__name__", ""))
                calls[module] = calls.get(module, 0) + 1

        sys.setprofile(count)
        analyze([str(path)], catalog, jobs=1)
        sys.setprofile(None)
        print(f"{name}: {sum(calls.values()):,} calls")
        for module, number in sorted(calls.items(), key=lambda item: -item[1])[:8]:
            print(f"    {module:28} {number:>10,}")


if __name__ == "__main__":
    main()

"""Measures ``logsig scan`` on many logs that it makes itself from the cases of this repository.

    python benchmarks/scan_many.py make DIR --count 10000 --size 100000     # logs as a month of a cluster leaves them
    python benchmarks/scan_many.py speed DIR [--sample 20]                  # against one `logsig diagnose` each
    python benchmarks/scan_many.py cores DIR                                # two workers against one
    python benchmarks/scan_many.py again DIR                                # a second scan of the unchanged folder
    python benchmarks/scan_many.py memory DIR                               # all processes together, shared pages once
    python benchmarks/scan_many.py agree DIR                                # small windows against the whole logs

Ratios are of CPU seconds where other work would blur a clock; both are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "fixtures" / "cases"
STEP = re.compile(r"\b(?:step|iter(?:ation)?)[ =:]+\d+")
HEALTHY = 0.8
HOSTS = 500
BAD, SHARE = "gpu-0123", 0.5
"""A host that starts a failure in this share of its jobs, beside the failures of all."""
ANSWER = ("outcome", "signature", "first_failing_rank", "scope")
LOGSIG = [sys.executable, "-m", "logsig"]


# ---------------------------------------------------------------- logs


class Case(NamedTuple):
    """A log of the repository, and the hosts that it names."""

    text: str
    is_healthy: bool
    nodes: tuple[str, ...]
    """The one that failed first, where the log tells it, stands first."""
    has_first: bool


def _cases() -> Iterator[Case]:
    sys.path.insert(0, str(ROOT))
    import logsig

    catalog = logsig.load_catalog()
    for log in sorted(CASES.glob("*/log.txt")):
        found = logsig.diagnose([str(log)], catalog)
        first = found.first_failing_node
        nodes = tuple(dict.fromkeys([*([first] if first else []), *found.job.nodes]))
        text = log.read_text(encoding="utf-8", errors="surrogateescape")
        yield Case(text, log.parent.name.startswith("healthy"), nodes, first is not None)


def make(folder: Path, count: int, size: int, seed: int) -> None:
    """Writes logs: a case of the repository, filled up with progress lines, on hosts and a day of its own."""
    cases = list(_cases())
    healthy = [case for case in cases if case.is_healthy]
    failed = [case for case in cases if not case.is_healthy]
    with_first = [case for case in failed if case.has_first]
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        hosts = [f"gpu-{each:04d}" for each in rng.sample(range(HOSTS), rng.choice([1, 2, 4, 8]))]
        is_bad = BAD in hosts and rng.random() < SHARE
        case = rng.choice(with_first if is_bad else failed if rng.random() > HEALTHY else healthy)
        while len(hosts) < len(case.nodes):
            hosts = list(dict.fromkeys([*hosts, f"gpu-{rng.randrange(HOSTS):04d}"]))
        if is_bad:
            hosts.insert(0, hosts.pop(hosts.index(BAD)))
        path = folder / f"slurm-{400000 + number}.out"
        day = f"2026-11-{1 + min(27, int(rng.random() ** 0.7 * 28)):02d}"
        path.write_bytes(f"SLURM_JOB_NODELIST={','.join(sorted(hosts))}\n".encode() + _log(case, size, hosts, day, rng))
        moment = time.mktime(time.strptime(f"{day} {rng.randrange(24):02d}", "%Y-%m-%d %H"))
        os.utime(path, (moment, moment))


def _log(case: Case, size: int, hosts: list[str], day: str, rng: random.Random) -> bytes:
    text = re.sub(r"\b20\d\d-\d\d-\d\d(?=[ T_])", day, case.text)
    names = dict(zip(case.nodes, hosts, strict=False))
    if names:
        known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        text = re.sub(rf"(?<![\w.-])(?:{known})(?![\w-])", lambda found: names[found[0]], text)
    lines = text.splitlines(keepends=True)
    at = next((number + 1 for number, line in enumerate(lines) if STEP.search(line)), 0)  # never inside a traceback
    filler = _filler(lines, size - sum(map(len, lines)), rng)
    whole = "".join([*lines[:at], *filler, *lines[at:]])
    return whole.encode("utf-8", "surrogateescape")


def _filler(lines: list[str], size: int, rng: random.Random) -> list[str]:
    """Gives progress lines in the log's own form: a line of a step with other numbers."""
    models = [line for line in lines if STEP.search(line) and "\r" not in line and len(line) < 240][:8]
    models = models or [re.sub("model ready.*", "step=0 loss=4.3025", line) for line in lines if "model ready" in line]
    models = models or ["step=0 loss=4.3025 lr=1.0e-03 tokens=64\n"]
    filler: list[str] = []
    while size > 0:
        line = re.sub(r"\d\.\d{2,4}\b", lambda _: f"{rng.random() * 5:.4f}", models[len(filler) % len(models)])
        filler.append(line if line.endswith("\n") else f"{line}\n")
        size -= len(filler[-1])
    return filler


# ---------------------------------------------------------------- measures


def _run(words: list[str]) -> tuple[float, float]:
    """Runs a command; gives seconds by the clock and of the CPU, all its processes together."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True, cwd=ROOT)  # noqa: S603 (commands of this file)
    clock = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def speed(folder: Path, sample: int) -> None:
    """Compares a scan with one ``diagnose`` for each log, measured on a sample."""
    logs = sorted(folder.iterdir())
    scan = _run([*LOGSIG, "scan", str(folder)])
    chosen = random.Random(1).sample(logs, min(sample, len(logs)))
    single = [_run([*LOGSIG, "diagnose", str(log)]) for log in chosen]
    each = [sum(times) / len(single) for times in zip(*single, strict=True)]
    for name, whole, one in zip(("clock", "CPU"), scan, each, strict=True):
        print(
            f"{name:>6}: {len(logs):,} logs in {whole:.1f} s, {1000 * whole / len(logs):.1f} ms each; "
            f"diagnose {1000 * one:.0f} ms each; {one * len(logs) / whole:.1f} times as fast"
        )


def cores(folder: Path) -> None:
    """Compares two workers with one."""
    one = _run([*LOGSIG, "scan", "--jobs", "1", str(folder)])
    two = _run([*LOGSIG, "scan", "--jobs", "2", str(folder)])
    print(f" clock: one worker {one[0]:.1f} s, two {two[0]:.1f} s; {one[0] / two[0]:.2f} times as fast")
    print(f"   CPU: one worker {one[1]:.1f} s, two {two[1]:.1f} s; {two[1] / one[1]:.2f} times as much")


def again(folder: Path) -> None:
    """Compares a scan with a second one that finds nothing changed."""
    with tempfile.TemporaryDirectory() as place:
        store = os.path.join(place, "store.db")
        first = _run([*LOGSIG, "scan", "--store", store, str(folder)])
        second = _run([*LOGSIG, "scan", "--store", store, str(folder)])
    for name, one, two in zip(("clock", "CPU"), first, second, strict=True):
        print(f"{name:>6}: first scan {one:.1f} s, second {two:.2f} s; {one / two:.0f} times as fast")


def memory(folder: Path) -> None:
    """Watches a scan's proportional set size: its own pages and its share of those that processes have in common."""
    words = [*LOGSIG, "scan", str(folder)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd=ROOT)  # noqa: S603 (a command of this file)
    seen: list[int] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.2):
            seen.append(sum(_pss(pid) for pid in _family(process.pid)))

    thread = threading.Thread(target=watch)
    thread.start()
    process.wait()
    over.set()
    thread.join()
    quarter = max(1, len(seen) // 4)
    print(
        f"memory of all processes: at most {max(seen) / 1024:.0f} MB; "
        f"{sum(seen[:quarter]) / quarter / 1024:.0f} MB in the first quarter of the time, "
        f"{sum(seen[-quarter:]) / quarter / 1024:.0f} MB in the last"
    )


def agree(folder: Path) -> None:
    """Compares what small windows tell with what ``diagnose`` would, log by log."""
    quick, thorough = (_answers([*LOGSIG, "scan", *how, "-f", "jsonl", str(folder)]) for how in ([], ["--thorough"]))
    differ = {job: (quick[job], answer) for job, answer in thorough.items() if quick.get(job) != answer}
    for job, (one, other) in differ.items():
        print(f"{job}: {one}, thorough {other}")
    print(f"{len(thorough) - len(differ):,} of {len(thorough):,} logs have the same outcome, cause, rank and scope")


def _answers(words: list[str]) -> dict[str, tuple[object, ...]]:
    done = subprocess.run(words, capture_output=True, check=True, cwd=ROOT)  # noqa: S603 (commands of this file)
    rows = [row for line in done.stdout.splitlines() if (row := json.loads(line))["type"] == "job"]
    return {row["job"]: tuple(row[name] for name in ANSWER) for row in rows}


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return [pid]
    return [pid, *(each for child in children for each in _family(int(child)))]


def _pss(pid: int) -> int:
    """Gives kilobytes; 0 for a process that has just ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
    except (OSError, ValueError):
        return 0


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "speed", "cores", "again", "memory", "agree"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    if chosen.what == "make":
        make(chosen.folder, chosen.count, chosen.size, chosen.seed)
    elif chosen.what == "speed":
        speed(chosen.folder, chosen.sample)
    else:
        {"cores": cores, "again": again, "memory": memory, "agree": agree}[chosen.what](chosen.folder)


if __name__ == "__main__":
    main()

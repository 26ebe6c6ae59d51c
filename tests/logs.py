"""Small logs for tests, built from the parts that real ones have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

GLOO_CLOSED = (
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:{port}. "
    "This is typically caused by a remote worker crashing."
)
GLOO_TIMEOUT = "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for {way} operation to complete"
AGENT = "torch/distributed/elastic/multiprocessing/api.py"


def steps(ranks: Sequence[int], upto: int) -> list[str]:
    """Training lines of all ranks, ``upto`` excluded."""
    return [f"[rank {rank}] step={step} loss={4 - step / 10:.4f}" for step in range(upto) for rank in ranks]


def traceback(rank: int | None, error: str, frame: str = "/opt/train/train.py", code: str = "train()") -> list[str]:
    """A traceback of one rank as torch's excepthook prints it; bare where the rank is None."""
    prefix = f"[rank{rank}]: " if rank is not None else ""
    lines = [
        "Traceback (most recent call last):",
        f'  File "{frame}", line 12, in main',
        f"    {code}",
        *error.split("\n"),
    ]
    return [prefix + line for line in lines]


def closed(rank: int, port: int = 4711) -> list[str]:
    """A rank that lost its peer."""
    return traceback(rank, GLOO_CLOSED.format(port=port), code="loss.backward()")


def timed_out(rank: int, way: str = "recv") -> list[str]:
    """A rank that waited for a peer."""
    return traceback(rank, GLOO_TIMEOUT.format(way=way), code="loss.backward()")


def table(exits: Mapping[int, int], root: int, time: str = "2026-11-29_16:35:23", host: str = "node-0") -> list[str]:
    """Torchrun's failure table; exit codes by rank, pids 1000 + rank."""

    def entry(index: int, rank: int) -> list[str]:
        code = exits[rank]
        said = (
            f"Signal {-code} received by PID {1000 + rank}"
            if code < 0
            else "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
        )
        return [
            f"[{index}]:",
            f"  time      : {time}",
            f"  host      : {host}",
            f"  rank      : {rank} (local_rank: {rank})",
            f"  exitcode  : {code} (pid: {1000 + rank}) ",
            "  error_file: <N/A>",
            f"  traceback : {said}",
        ]

    others = [line for index, rank in enumerate(sorted(set(exits) - {root}), 1) for line in entry(index, rank)]
    return [
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "=" * 60,
        "train.py FAILED",
        "-" * 60,
        "Failures:",
        *(others or ["  <NO_OTHER_FAILURES>"]),
        "-" * 60,
        "Root Cause (first observed failure):",
        *entry(0, root),
        "=" * 60,
    ]


def stopping(*ranks: int) -> list[str]:
    """The agent ends survivors with SIGTERM."""
    return [
        f"W1129 16:35:23.000000 900 {AGENT}:1028] Sending process {1000 + rank} closing signal SIGTERM"
        for rank in ranks
    ]


def text(*parts: Sequence[str]) -> str:
    """Joins the parts to a log."""
    return "\n".join(line for part in parts for line in part) + "\n"

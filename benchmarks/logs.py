"""Makes the logs that the benchmarks read: training lines of many ranks with a failure, or a storm of retries."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

STEPS = 40
"""Steps in a chunk; chunks are repeated with another time."""
RANKS = 64
SEED = 7

BANNER = b"""W0501 12:00:00.000000 4711 torch/distributed/run.py:793]
*****************************************
Setting OMP_NUM_THREADS environment variable for each process to be 1 in default
*****************************************
torch 2.8.0+cu128, NCCL 2.27.3, world size %d
"""
FAILURE = b"""[rank%(first)d]: Traceback (most recent call last):
[rank%(first)d]:   File "/opt/train/train.py", line 212, in <module>
[rank%(first)d]:     main()
[rank%(first)d]:   File "/opt/train/train.py", line 188, in main
[rank%(first)d]:     loss = model(batch)
[rank%(first)d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 5 has a total capacity of \
79.11 GiB of which 2.04 GiB is free. Process 4242 has 77.06 GiB memory in use. Of the allocated memory 70.11 GiB is \
allocated by PyTorch, and 5.02 GiB is reserved by PyTorch but unallocated.
"""
WAITING = b"""[rank%(rank)d]:[E501 12:40:00.000000001 ProcessGroupNCCL.cpp:683] [Rank %(rank)d] Watchdog caught \
collective operation timeout: WorkNCCL(SeqNum=4211, OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, \
Timeout(ms)=600000) ran for 600021 milliseconds before timing out.
"""


def training(size: int, ranks: int = RANKS, attempts: int = 1) -> Iterator[bytes]:
    """Gives a log of about ``size`` bytes in which every attempt ends with the same failure of one rank."""
    yield BANNER % ranks
    chunk = _chunk(ranks)
    minute = 0
    for _ in range(attempts):
        written = 0
        while written < size // attempts:
            minute += 1
            piece = chunk.replace(b"HH:MM", b"%02d:%02d" % (minute // 60 % 24, minute % 60))
            yield piece[: piece.rfind(b"\n", 0, max(1, size // attempts - written)) + 1]
            written += len(piece)
        yield _failure(ranks)


def storm(size: int) -> Iterator[bytes]:
    """Gives a log in which every fifth line is a message that a signature looks for."""
    rnd = random.Random(SEED)
    lines = []
    for number in range(100_000):
        rank = number % RANKS
        if number % 5:
            lines.append(_step(rnd, rank, number // RANKS))
        else:
            lines.append(b"[rank%d]: store: Connection reset by peer, attempt %d, retrying\n" % (rank, number))
    chunk = b"".join(lines)
    for _ in range(max(1, size // len(chunk))):
        yield chunk
    yield _failure(RANKS)


def write(path: Path, pieces: Iterator[bytes]) -> Path:
    """Writes a log."""
    with path.open("wb") as file:
        file.writelines(pieces)
    return path


def _failure(ranks: int) -> bytes:
    first = 5 % ranks
    waiting = b"".join(WAITING % {b"rank": rank} for rank in range(ranks) if rank != first)
    return FAILURE % {b"first": first} + waiting


def _chunk(ranks: int) -> bytes:
    rnd = random.Random(SEED)
    return b"".join(_step(rnd, rank, step) for step in range(max(2, STEPS * RANKS // ranks)) for rank in range(ranks))


def _step(rnd: random.Random, rank: int, step: int) -> bytes:
    loss, norm, speed = rnd.random() * 3, rnd.random(), rnd.randrange(9000, 12000)
    return (
        f"[rank{rank}]: 2026-05-01 HH:MM:{step % 60:02d},{rnd.randrange(1000):03d} INFO train.py:212 epoch 1"
        f" step {step} loss {loss:.4f} lr 3.00e-04 grad_norm {norm:.3f} tokens/s {speed}\n"
    ).encode()

"""A miner of log templates over every line, as a peer: Drain3.

usage: drain.py LOG
"""

from __future__ import annotations

import sys

from drain3 import TemplateMiner
from drain3.template_miner_config import TemplateMinerConfig


def main(path: str) -> None:
    """Prints the number of templates."""
    miner = TemplateMiner(config=TemplateMinerConfig())
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            miner.add_log_message(line.rstrip("\n"))
    print(len(miner.drain.clusters))


if __name__ == "__main__":
    main(sys.argv[1])

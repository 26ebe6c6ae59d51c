"""Names of pods and hosts that training operators give, to the index of the node."""

from __future__ import annotations

from logsig.late import late

_FIRST = late(r"-(?:master|launcher|head|chief)-0(?:-[a-z0-9]{5})?$")
_WORKER = late(r"-worker-(\d{1,5})(?:-[a-z0-9]{5})?$")
_JOB_SET = late(r"-(\d{1,5})-(\d{1,5})-[a-z0-9]{5}$")


def node_rank(pod: str) -> int | None:
    """Index of the node of this pod, or None where its name tells nothing.

    PyTorchJob: the master is node 0, worker n is node n + 1. JobSet and TrainJob: job and pod index, one of them 0.
    """
    if _FIRST.search(pod):
        return 0
    if match := _WORKER.search(pod):
        return int(match[1]) + 1
    if match := _JOB_SET.search(pod):
        job, index = int(match[1]), int(match[2])
        return job + index if 0 in (job, index) else None
    return None

"""Facts of a Python traceback: exception, message, the user's own frame, and what the stack passed through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logsig.late import late
from logsig.model import Frame, Message

_FOREIGN = late(
    r"(?:^|/)(?:site-packages|dist-packages|lib/python\d(?:\.\d+)?|lib64/python\d(?:\.\d+)?)/|^<|/bin/(?:torchrun|accelerate|deepspeed)$"
)
_EXCEPTION = late(r"^(?P<type>[\w.]+)(?::\s*(?P<message>[^\n]*))?")


def is_users(frame: Frame) -> bool:
    """True for a frame of the user's own code: outside of installed packages and the standard library."""
    return not _FOREIGN.search(frame.path)


def user_frame(frames: Sequence[Frame]) -> Frame | None:
    """Gives the innermost frame of the user's own code."""
    return next((frame for frame in reversed(frames) if is_users(frame)), None)


def facts_of(message: Message) -> dict[str, Any]:
    """Returns exception type and message where the message is a traceback; nothing otherwise."""
    if not message.exception:
        return {}
    found = _EXCEPTION.match(message.text)
    facts: dict[str, Any] = {
        "exception": message.exception.rsplit(".", 1)[-1]
        if message.exception.startswith("builtins.")
        else message.exception
    }
    if found and found["message"]:
        facts["message"] = found["message"].strip()[:500]
    return facts


def context_of(frames: Sequence[Frame]) -> dict[str, Any]:
    """Returns what templates may ask of a stack (names: ``signature.CONTEXT``)."""
    inner = user_frame(frames)
    paths = [f"{frame.path}:{frame.function}" for frame in frames]
    code = " ".join(frame.code for frame in frames)
    return {
        "user_frame": f"{inner.path}:{inner.line}" if inner else None,
        "user_function": inner.function if inner else None,
        "user_code": (inner.code or None) if inner else None,
        "ddp_frame": next(
            (
                f"{frame.path}:{frame.line}"
                for frame in reversed(frames)
                if is_users(frame) and ("backward" in frame.code or "model(" in frame.code)
            ),
            None,
        ),
        "in_backward": any(":backward" in path or "_engine_run_backward" in path for path in paths)
        or ".backward(" in code,
        "in_forward": any(":forward" in path or "_pre_forward" in path for path in paths),
        "in_dataloader": any("utils/data/" in path for path in paths),
        "in_checkpoint_save": any("save" in path for path in paths) or "torch.save" in code or ".save_" in code,
    }

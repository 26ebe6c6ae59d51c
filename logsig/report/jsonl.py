"""The JSON contract on one line, for streams of many diagnoses."""

from logsig.report.json_v1 import encode_line as render

__all__ = ["render"]

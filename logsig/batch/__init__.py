"""Many jobs at once: finds them under paths, reads them with workers, groups their failures, remembers them.

jobs.find(paths) -> Plan -> scanning.scan(plan, …) -> Verdict        (report.scans writes it, store keeps it)
"""

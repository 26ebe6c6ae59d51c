"""Pictures of a scan as inline SVG: failures by day, a host heat map, bars. Drawn with attributes, without styles.

Takes numbers and harmless texts; gives markup. Knows nothing of jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING

from logsig.report import inert, wording

if TYPE_CHECKING:
    from logsig.batch.model import Host

BAR = "#b3261e"
EMPTY = 'fill="currentColor" fill-opacity="0.06"'
WIDE = 960
MOST_DAYS = 120
"""Bars of a timeline; longer times are drawn by week, month, quarter, year."""
MOST_COLUMNS = 60
MOST_HOSTS = 40


def spans(days: Sequence[str], most: int) -> tuple[list[str], str]:
    """Gives spans of time without a gap, as many as fit, by their first days, and what kind they are."""
    known = sorted(day for day in days if _day(day) is not None)
    if not known:
        return [], "day"
    first, last = _day(known[0]) or date.min, _day(known[-1]) or date.min
    for name, step in (("day", 1), ("week", 7)):
        if (last - first).days // step < most:
            begin = first if step == 1 else first - timedelta(days=first.weekday())
            return [(begin + timedelta(days=at)).isoformat() for at in range(0, (last - begin).days + 1, step)], name
    for name, step in _MONTHS.items():
        numbers = range(_month(first) // step * step, _month(last) + 1, step)
        if len(numbers) <= most or name == "year":
            return [_first_day(number) for number in numbers[-most:]], name
    return [], "day"


_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def _month(day: date) -> int:
    """Counts months from year 0."""
    return day.year * 12 + day.month - 1


def _first_day(month: int) -> str:
    return f"{month // 12:04d}-{month % 12 + 1:02d}-01"


def span_of(day: str, kind: str) -> str:
    """Gives the first day of the span in which a day lies."""
    found = _day(day)
    if found is None or kind == "day":
        return day
    if kind == "week":
        return (found - timedelta(days=found.weekday())).isoformat()
    step = _MONTHS[kind]
    return _first_day(_month(found) // step * step)


def _told(first: str, kind: str) -> str:
    """Names a span by its first day, as exactly as its kind is."""
    return first[: {"month": 7, "quarter": 7, "year": 4}.get(kind, 10)]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def timeline_by(days: Mapping[str, int]) -> str:
    """Says of what each bar of the timeline is the sum."""
    return spans(list(days), MOST_DAYS)[1]


def timeline(days: Mapping[str, int]) -> str:
    """Draws failures over time."""
    columns, kind = spans(list(days), MOST_DAYS)
    if not columns:
        return ""
    counts = _by_span(days, kind)
    most = max(counts.values())
    step = WIDE / len(columns)
    parts = [
        f'<svg viewBox="0 0 {WIDE} 170" role="img" aria-label="Failures by {kind}">',
        f'<text x="0" y="11" fill="currentColor" font-size="12">{most:,} at most per {kind}</text>',
        f'<line x1="0" x2="{WIDE}" y1="140.5" y2="140.5" stroke="currentColor" stroke-opacity="0.3"/>',
    ]
    for at, column in enumerate(columns):
        count = counts.get(column, 0)
        if count:
            height = max(2.0, 120 * count / most)
            parts.append(
                f'<rect x="{at * step + step * 0.1:.1f}" y="{140 - height:.1f}" width="{max(step * 0.8, 1):.1f}"'
                f' height="{height:.1f}" fill="{BAR}"><title>{_told(column, kind)}: {count:,}</title></rect>'
            )
    for at in _labelled(len(columns)):
        anchor = "start" if at == 0 else "end" if at == len(columns) - 1 else "middle"
        x = 0 if at == 0 else WIDE if at == len(columns) - 1 else (at + 0.5) * step
        parts.append(
            f'<text x="{x:.1f}" y="158" fill="currentColor" font-size="12" text-anchor="{anchor}">'
            f"{_told(columns[at], kind)}</text>"
        )
    return "".join([*parts, "</svg>"])


def _by_span(days: Mapping[str, int], kind: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for day, count in days.items():
        if _day(day) is not None:
            counts[span_of(day, kind)] = counts.get(span_of(day, kind), 0) + count
    return counts


def _labelled(count: int) -> list[int]:
    wanted = min(count, 7)
    return sorted({round(at * (count - 1) / max(wanted - 1, 1)) for at in range(wanted)})


def heat_map(hosts: Sequence[Host]) -> str:
    """Draws which host started how many failures when: a row per host, those that chance can't explain marked."""
    shown = sorted(hosts, key=lambda host: (host.q, host.p, -host.starts, host.name))[:MOST_HOSTS]
    columns, kind = spans([day for host in shown for day in host.days], MOST_COLUMNS)
    if not columns:
        return ""
    counts = [_by_span(host.days, kind) for host in shown]
    most = max((count for each in counts for count in each.values()), default=1)
    left, row = 230, 20
    step = min((WIDE - left) / len(columns), 40.0)
    height = len(shown) * row + 34
    parts = [f'<svg viewBox="0 0 {WIDE} {height}" role="img" aria-label="Failures started, by host and {kind}">']
    for at, (host, mine) in enumerate(zip(shown, counts, strict=True)):
        parts.append(_name(host, left, at * row))
        for place, column in enumerate(columns):
            count = mine.get(column, 0)
            fill = f'fill="{BAR}" fill-opacity="{0.25 + 0.75 * count / most:.2f}"' if count else EMPTY
            title = f"<title>{inert.xml(host.name)}, {_told(column, kind)}: {count}</title>" if count else ""
            parts.append(
                f'<rect x="{left + place * step:.1f}" y="{at * row + 2}" width="{max(step - 2, 1):.1f}"'
                f' height="{row - 4}" {fill}>{title}</rect>'
            )
    y = len(shown) * row + 16
    parts.append(f'<text x="{left}" y="{y}" fill="currentColor" font-size="12">{_told(columns[0], kind)}</text>')
    if len(columns) > 1:
        end = left + len(columns) * step
        anchor = "end" if end > left + 170 else "start"
        x = end if anchor == "end" else left + 90
        parts.append(
            f'<text x="{x:.1f}" y="{y}" fill="currentColor" font-size="12" text-anchor="{anchor}">'
            f"{_told(columns[-1], kind)}</text>"
        )
    return "".join([*parts, "</svg>"])


def _name(host: Host, right: int, y: int) -> str:
    """Writes a host's name and the number of its starts."""
    name = inert.xml(inert.line(wording.cut(host.name, 24)))
    color, weight, mark = (BAR, 700, "▶ ") if host.is_named else ("currentColor", 400, "")
    return (
        f'<text x="{right - 44}" y="{y + 15}" fill="{color}" font-size="12" font-weight="{weight}" text-anchor="end">'
        f'{mark}{name}</text><text x="{right - 8}" y="{y + 15}" fill="currentColor" font-size="12" text-anchor="end">'
        f"{host.starts}</text>"
    )


def bar(share: float) -> str:
    """Draws a share as a bar: all of it is everything."""
    width = max(1.0, 160 * min(share, 1.0))
    return (
        '<svg class="share" viewBox="0 0 160 12" width="160" height="12" aria-hidden="true">'
        '<rect width="160" height="12" fill="currentColor" fill-opacity="0.08"/>'
        f'<rect width="{width:.1f}" height="12" fill="{BAR}"/></svg>'
    )

"""Timestamps as printed to seconds on a node's clock.

A stamp is read by the name of its format; nothing is guessed from its looks alone. Many formats lack the year, the zone
or the date: ``seconds`` fills them with what the caller knows, ``RunningClock`` keeps count over midnight and New Year.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from logsig.late import late
from logsig.model import Stamp
from logsig.record import dataclass

LEAP_YEAR = 2000
"""Stands in for an unknown year: it has a 29th of February."""
DAY = 86_400.0
HALF_YEAR = 183 * DAY
_EPOCH_DAY = date(1970, 1, 1).toordinal()
TAI_MINUS_UTC = 37
"""Leap seconds since 2017, which TAI64N labels count in addition to ten."""

_MONTHS = {
    name: number
    for number, name in enumerate(
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], 1
    )
}


@dataclass(frozen=True, slots=True)
class Moment:
    """The parts of a stamp; what it doesn't say is None."""

    year: int | None
    month: int | None
    day: int | None
    second: float
    """Seconds since midnight, or since the zero of the clock where there is no calendar at all."""
    zone: float | None = None
    """Seconds east of UTC."""


def seconds(stamp: Stamp, year: int | None = None, zone: float | None = None) -> float | None:
    """Seconds since 1970 in UTC, with ``year`` and ``zone`` (seconds east) where the stamp lacks them, else 2000, 0.

    A time of day alone gives seconds since midnight, an uptime seconds since boot. None where it is no real time.
    """
    moment = read(stamp)
    if moment is None:
        return None
    if moment.month is None or moment.day is None:
        return moment.second
    days = _days(moment.year or year or LEAP_YEAR, moment.month, moment.day)
    if days is None:
        return None
    offset = moment.zone if moment.zone is not None else (zone or 0.0)
    return days * DAY + moment.second - offset


@lru_cache(maxsize=4096)
def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970; None where there is no such day."""
    try:
        return date(year, month, day).toordinal() - _EPOCH_DAY
    except (ValueError, OverflowError):
        return None


def read(stamp: Stamp) -> Moment | None:
    """The parts of a stamp, or None where its text isn't in its format."""
    reader = FORMATS.get(stamp.format)
    return reader(stamp.text) if reader else None


def year_of(stamps: Iterable[Stamp]) -> int | None:
    """The first year that a stamp spells out."""
    return next((moment.year for moment in map(read, stamps) if moment and moment.year), None)


def text(stamp: Stamp) -> str:
    """The stamp for a reader: date as far as known, clock to the millisecond, zone if printed."""
    moment = read(stamp)
    if moment is None or stamp.format in ("uptime", "tai64n", "epoch"):
        value = seconds(stamp)
        return stamp.text if value is None or stamp.format == "uptime" else text_of(value)
    year = f"{moment.year:04d}-" if moment.year else ""
    day = f"{year}{moment.month:02d}-{moment.day:02d}" if moment.month else ""
    zone = "" if moment.zone is None else ("Z" if moment.zone == 0 else _zone_text(moment.zone))
    return f"{day} {_clock(moment.second)}{zone}".strip()


def text_of(value: float) -> str:
    """Seconds since 1970 for a reader, in UTC, to the millisecond."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
    except (OverflowError, ValueError):
        return f"{value:.3f} s"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"


class RunningClock:
    """One clock read in order: counts on over midnight and New Year where its stamps lack the date or the year."""

    def __init__(self, year: int | None = None, zone: float | None = None, near: float | None = None) -> None:
        """``near`` is a time to which the first stamp is near, as another clock of the job tells."""
        self._year = year or LEAP_YEAR
        self._zone = zone
        self._last = near

    def seconds(self, stamp: Stamp) -> float | None:
        """As ``clocks.seconds``, nearest to the stamp read before; an uptime has a zero of its own and stands apart."""
        value = seconds(stamp, self._year, self._zone)
        if value is None or stamp.format == "uptime":
            return value
        if self._last is not None and abs(value - self._last) > DAY / 2:
            value = self._nearest(stamp, value, self._last)
        self._last = value
        return value

    def _nearest(self, stamp: Stamp, value: float, last: float) -> float:
        if stamp.format == "hms":
            return value + DAY * round((last - value) / DAY)
        moment = read(stamp)
        is_yearless = moment is not None and moment.year is None
        return self._nearest_year(stamp, value, last) if is_yearless else value

    def _nearest_year(self, stamp: Stamp, value: float, last: float) -> float:
        if abs(value - last) <= HALF_YEAR:
            return value
        step = 1 if value < last else -1
        moved = seconds(stamp, self._year + step, self._zone)
        if moved is None or abs(moved - last) > HALF_YEAR:
            return value
        self._year += max(step, 0)
        return moved


# ---------------------------------------------------------------- formats

_ISO_MINUTE = late(r"(\d{4})[-/](\d\d)[-/](\d\d)[T _](\d\d):(\d\d):$", re.ASCII)
_ISO_SECOND = late(r"(\d\d)(?:[.,](\d{1,9}))? ?(?:(Z)|([+-])(\d\d):?(\d\d))?$", re.ASCII)
_US = late(r"(\d\d)/(\d\d)/(\d{4}|\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?$")
_CTIME = late(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d) (\d{4})$")
_SYSLOG = late(r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?$")
_GLOG = late(r"(\d{2,4}) (\d\d):(\d\d):(\d\d)\.(\d{1,9})$")
_MONTH_DAY = late(r"(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?$")
_HMS = late(r"(\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?$")


def _second(hour: str, minute: str, second: str, fraction: str | None) -> float:
    return int(hour) * 3600 + int(minute) * 60 + int(second) + (float(f"0.{fraction}") if fraction else 0.0)


def _iso(stamp: str) -> Moment | None:
    minute, match = _iso_minute(stamp[:17]), _ISO_SECOND.match(stamp, 17)
    if minute is None or match is None:
        return None
    second, fraction, utc, sign, zone_hour, zone_minute = match.groups()
    zone = 0.0 if utc else None
    if sign:
        zone = (1 if sign == "+" else -1) * (int(zone_hour) * 3600.0 + int(zone_minute) * 60.0)
    year, month, day, since = minute
    return Moment(year, month, day, since + (float(f"{second}.{fraction}") if fraction else int(second)), zone)


@lru_cache(maxsize=4096)
def _iso_minute(text: str) -> tuple[int, int, int, float] | None:
    """Year, month, day, seconds since midnight: read once for all lines of a minute."""
    match = _ISO_MINUTE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute = map(int, match.groups())
    return year, month, day, hour * 3600.0 + minute * 60


def _us(stamp: str) -> Moment | None:
    match = _US.match(stamp)
    if not match:
        return None
    month, day, year, hour, minute, second, fraction = match.groups()
    full = int(year) if len(year) == 4 else 2000 + int(year)
    return Moment(full, int(month), int(day), _second(hour, minute, second, fraction))


def _ctime(stamp: str) -> Moment | None:
    match = _CTIME.match(stamp)
    if not match or match[1] not in _MONTHS:
        return None
    return Moment(int(match[6]), _MONTHS[match[1]], int(match[2]), _second(match[3], match[4], match[5], None))


def _syslog(stamp: str) -> Moment | None:
    match = _SYSLOG.match(stamp)
    if not match or match[1] not in _MONTHS:
        return None
    return Moment(None, _MONTHS[match[1]], int(match[2]), _second(match[3], match[4], match[5], match[6]))


def _glog(stamp: str) -> Moment | None:
    """``709`` is 9 July and ``1118`` 18 November: the month isn't padded; glog proper and Python pad it."""
    match = _GLOG.match(stamp)
    if not match:
        return None
    digits, hour, minute, second, fraction = match.groups()
    month_day = next((pair for pair in _month_days(digits) if 1 <= pair[0] <= 12 and 1 <= pair[1] <= 31), None)
    if month_day is None:
        return None
    return Moment(None, *month_day, _second(hour, minute, second, fraction))


def _month_days(digits: str) -> Iterable[tuple[int, int]]:
    for width in (2, 1):
        if len(digits) > width:
            yield int(digits[:-width]), int(digits[-width:])


def _month_day(stamp: str) -> Moment | None:
    match = _MONTH_DAY.match(stamp)
    if not match:
        return None
    return Moment(None, int(match[1]), int(match[2]), _second(match[3], match[4], match[5], match[6]))


def _hms(stamp: str) -> Moment | None:
    match = _HMS.match(stamp)
    return Moment(None, None, None, _second(match[1], match[2], match[3], match[4])) if match else None


def _uptime(stamp: str) -> Moment | None:
    try:
        return Moment(None, None, None, float(stamp))
    except ValueError:
        return None


def _epoch(stamp: str) -> Moment | None:
    """Seconds, milliseconds, microseconds or nanoseconds since 1970, told apart by their size."""
    try:
        value = float(stamp)
    except ValueError:
        return None
    for limit, scale in ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9)):
        if 0 <= value < limit:
            return _moment_of(value / scale)
    return None


def _tai64n(stamp: str) -> Moment | None:
    try:
        whole, nano = int(stamp[:16], 16) - 2**62, int(stamp[16:24] or "0", 16)
    except ValueError:
        return None
    return _moment_of(whole - TAI_MINUS_UTC + nano / 1e9)


def _moment_of(value: float) -> Moment | None:
    days, second = divmod(value, DAY)
    try:
        day = date.fromordinal(_EPOCH_DAY + int(days))
    except (ValueError, OverflowError):
        return None
    return Moment(day.year, day.month, day.day, second, 0.0)


def _clock(second: float) -> str:
    whole, milli = divmod(int(second * 1000 + 1e-6), 1000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}" + (f".{milli:03d}" if milli else "")


def _zone_text(zone: float) -> str:
    minutes = int(abs(zone)) // 60
    return f"{'+' if zone > 0 else '-'}{minutes // 60:02d}:{minutes % 60:02d}"


FORMATS: dict[str, Callable[[str], Moment | None]] = {
    "c10": lru_cache(4096)(_glog),
    "glog": lru_cache(4096)(_glog),
    "iso": lru_cache(4096)(_iso),
    "us": _us,
    "ctime": _ctime,
    "syslog": _syslog,
    "month-day": _month_day,
    "hms": _hms,
    "uptime": _uptime,
    "epoch": _epoch,
    "tai64n": _tai64n,
}
"""Readers by format name; ``time_format`` of a prefix file is one of these."""
DATED = frozenset(("iso", "us", "ctime", "epoch", "tai64n"))
"""Formats that spell the year out."""

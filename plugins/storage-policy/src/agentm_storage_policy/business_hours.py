"""The one condition of a grant that a device can check by itself."""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

if TYPE_CHECKING:
    from agentm_storage_policy.definition import Data

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_START, _END = "09:00", "17:00"


def is_open(condition: Data, now: float) -> bool | None:
    """Whether it is working time in the condition's `timezone`; `None` if the condition cannot be understood.

    `start`, `end` (`09:00`, `17:00`) and `days` (`[mon, tue, wed, thu, fri]`) may say otherwise.
    """
    try:
        here = datetime.fromtimestamp(now, ZoneInfo(str(condition.get("timezone", "UTC"))))
        start = time.fromisoformat(str(condition.get("start", _START)))
        end = time.fromisoformat(str(condition.get("end", _END)))
        days = [_DAYS.index(str(day).lower()[:3]) for day in condition.get("days", _DAYS[:5])]
    except (ValueError, KeyError, OSError):  # ZoneInfo: no such zone, or not the name of one
        return None
    return here.weekday() in days and start <= here.time() < end

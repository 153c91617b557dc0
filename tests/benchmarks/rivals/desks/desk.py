"""What each writer of the rivals' benchmark is: a process that adds a line, or reads all lines, when it is asked.

Requests and answers are JSON, one to a line. These files run in the rivals' own environments, so they import nothing
of this repository but each other.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def serve(**verbs: Callable[..., object]) -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not come among the answers

    def answer(**fields: object) -> None:
        answers.write(json.dumps(fields) + "\n")
        answers.flush()

    answer(done="ready")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer(done=verbs[request.pop("verb")](**request))
        except Exception as error:  # whatever it is, whoever asked was told
            answer(refused=f"{type(error).__name__}: {error}"[:300])

"""The same traces and prompts deep inside a long paste: forty frames of libraries, or a page about how to work.

What is added answers nothing and is equal for every question, so whoever reads only the beginning of a question, or
counts every word of it alike, loses the answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.benchmarks.memory.corpus import Question

_PLACES = (
    ("starlette/middleware/errors", "__call__", "await self.app(scope, receive, inner_send)"),
    ("starlette/middleware/exceptions", "__call__", "raise exception from original"),
    ("anyio/streams/memory", "receive_nowait", "raise EndOfStream"),
    ("asyncio/runners", "run", "return runner.run(main)"),
    ("concurrent/futures/thread", "run", "result = self.fn(*self.args, **self.kwargs)"),
    ("celery/app/trace", "trace_task", "retval = fun(*args, **kwargs)"),
    ("sqlalchemy/engine/base", "_execute_context", "self._handle_dbapi_exception(error, statement)"),
    ("requests/adapters", "send", "raise ConnectionError(err, request=request)"),
    ("urllib3/connectionpool", "urlopen", "retries = retries.increment(method, url, error=new_e)"),
    ("httpcore/_async/connection_pool", "handle_async_request", "await self._close_connections(closing)"),
)

_PAGE = """\
You are working in my repository. Before anything else read the contributing guide and the notes of the last
meeting, then look at the open branches so that you don't do what somebody has already begun. Work in small
steps, run the tests after every step, and tell me when a command takes longer than a minute. Ask when something
is unclear, but collect your questions and ask them at once. Use the language of the file you are in, keep lines
short, give things names that a newcomer understands, and leave a comment only where the reason isn't obvious.
Do not format files that you don't change. I prefer plain functions to classes, early returns to nesting, and
deleting code to adding it. Commit messages have a subject in the imperative and a body that explains the
reason. If you find a mistake that has nothing to do with the task, write it down at the end of your answer and
leave it alone. When you are finished, summarise what you have done in five sentences, list the files, and say
what you're unsure about. Here is the task:
"""


def buried(questions: list[Question]) -> list[Question]:
    """Every trace and prompt once more, inside a long paste."""
    frames = "\n".join(
        f'  File "/srv/app/lib/python3.12/site-packages/{path}.py", line {100 + 7 * number}, in {name}\n    {line}'
        for number in range(4)
        for path, name, line in _PLACES
    )
    before = {"trace": f"Traceback (most recent call last):\n{frames}\n", "prompt": _PAGE}
    return [
        replace(question, category=f"buried {question.category}", text=before[question.category] + question.text)
        for question in questions
        if question.category in before
    ]

"""What the process seam asks: entry point `agentm.recall`, and its attributes `for_prompt` and `own`."""

from __future__ import annotations

from agentm_kernel.plugin import Locator
from agentm_recall.layout import NOBODY, PROJECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentm_kernel.plugin import Device, Resolution


def recall(resolution: Resolution, *, phase: str, query: str | None = None, limit: int | None = None) -> str:
    """The notes for a phase of work on the project of `resolution`; `""` where no store was selected."""
    if resolution.store_name is not None:
        from agentm_recall.two_stores import notes_of_bound

        return notes_of_bound(resolution, phase, query, limit)
    return recall_project(resolution, phase, query, limit)


def recall_project(
    resolution: Resolution,
    phase: str,
    query: str | None,
    limit: int | None,
    *,
    personal: bool = True,
    title: str = "{}",
) -> str:
    """The same from the one store that the project is in."""
    if resolution.backend is None or resolution.project_locator is None:
        return ""
    project, place = scope_of(resolution, resolution.project_locator)
    heading = title.format(resolution.slug)
    from agentm_recall.phases import recalled  # here, because a prompt needs none of it

    return recalled(
        resolution.backend,
        project,
        place,
        phase,
        budget=limit,
        query=query,
        personal=personal,
        heading=heading,
    )


def scope_of(resolution: Resolution, place: Locator) -> tuple[str, Locator]:
    """Which project is asked for, and where it lies: one that nobody has, as long as the place is not claimed.

    On a copy that is out of date, the name may be another repository's by now: nothing that is known of it is ours,
    be it in the store, in an outline or in the index.
    """
    return (resolution.slug, place) if resolution.is_claimed else (NOBODY, Locator(f"{PROJECTS}/{NOBODY}"))


def for_prompt(resolution: Resolution, *, prompt: str, limit: int = 600, known: Sequence[str] = ()) -> str:
    """The notes that answer a prompt, at most three and in at most `limit` tokens; `""` if none does.

    `known` are the keys of notes that the session has been given; they are not repeated.
    """
    from agentm_recall.prompting import answer_prompt

    return answer_prompt(resolution, prompt=prompt, limit=limit, known=known)


def why(resolution: Resolution, *, note: str, phase: str, query: str | None, limit: int | None) -> str:
    """Why a note is recalled, or why not."""
    from agentm_recall.explaining import explain

    return explain(resolution, note=note, phase=phase, query=query, limit=limit)


def own(device: Device, *, phase: str, query: str | None = None, limit: int | None = None) -> str:
    """The operator's own notes, for a project whose notes are in another store."""
    from agentm_recall.two_stores import own_notes

    return own_notes(device, phase=phase, query=query, limit=limit)


recall.why = why  # type: ignore[attr-defined] # where `agentm recall-here --why` looks for it
recall.for_prompt = for_prompt  # type: ignore[attr-defined] # where `agentm hook prompt` looks for it
recall.own = own  # type: ignore[attr-defined] # and where the process seam does, for two stores

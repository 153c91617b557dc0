"""What the operator should know about how a project was found: one line each, with what to run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.projects.lookup import Place
    from agentm_kernel.projects.slug import ProjectIdentity


def notice_about(place: Place, project: ProjectIdentity) -> str | None:
    """The line, or `None` where the store and the checkout agree."""
    record, remote = place.record, project.remote
    if record is not None and remote is not None and record.remotes and remote not in record.remotes:
        return (
            f"the remote is {remote} now, and the store knows the project '{place.slug}' as {record.remotes[0]}: "
            "if it is the same project, run `agentm project register --adopt`"
        )
    if project.declared and project.declared != place.slug:
        return (
            f"{project.source_of_declared} says '{project.declared}', but this project is '{place.slug}' in the "
            "store: another repository has that name, or this one had another before"
        )
    return None

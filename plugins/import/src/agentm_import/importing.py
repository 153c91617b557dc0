"""One import from beginning to end, without a terminal: read, plan, claim the projects, write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentm_import.contract import find_importer, note_format
from agentm_import.ledger import Ledger
from agentm_import.planning import CREATE, UPDATE, Plan, Planner
from agentm_import.targets import Targets
from agentm_import.writing import carry_out
from agentm_kernel.plugin import AgentmError, Call, PluginError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from agentm_import.planning import Step
    from agentm_kernel.plugin import Device


class Import:
    """An import that was planned and may be carried out."""

    def __init__(
        self,
        device: Device,
        source: str,
        path: str = "",
        *,
        project: str | None = None,
        mapped: Mapping[str, str] | None = None,
        keep_names: bool = False,
        ask: Callable[[str], str | None] | None = None,
        dry_run: bool = False,
    ) -> None:
        self.source = source
        self._importer = find_importer(device, source)
        self._notes = note_format(device)
        self._backend = device.store(read_only=dry_run)
        self._targets = Targets(
            device,
            self._notes,
            project=project,
            mapped=mapped,
            keep_names=keep_names,
            ask=ask,
            read_only=dry_run,
        )
        self._ledger = Ledger(self._backend, source)
        self._items = list(self._read(path, device))
        self.plan = self._planned()

    @property
    def unused_maps(self) -> list[str]:
        """The projects that were mapped, and of which the source has no memory."""
        return [*self._targets.unused]

    def _read(self, path: str, device: Device) -> Iterator[object]:
        with Call(f"importer '{self.source}'", "reading"):  # for what is no `Exception`, and `os._exit`
            try:
                yield from self._importer.read(path, device)
            except AgentmError:
                raise
            except Exception as error:
                raise PluginError(
                    f"the importer '{self.source}' failed: {reason_of(error)}", hint="nothing was imported"
                ) from error

    def _planned(self) -> Plan:
        return Planner(self.source, self._backend, self._notes, self._targets, self._ledger).plan(self._items)

    def carry_out(self, bar: Callable[[Sequence[Step]], Iterable[Step]] = lambda steps: steps) -> Plan:
        """Write what the plan says; the answer says what became of each step."""
        if self._claim():
            self.plan = self._planned()  # a project got another name than was expected
        return carry_out(bar(self.plan.steps), self._backend, self._notes, self._ledger)

    def _claim(self) -> bool:
        """Make the places of the projects theirs; whether one of them is elsewhere now."""
        moved = False
        for project in dict.fromkeys(
            step.item.project for step in self.plan.of(CREATE, UPDATE) if step.item is not None and not step.item.key
        ):
            before = self._targets.of(project).folder
            self._targets.claim(project)
            moved = moved or self._targets.of(project).folder != before
        return moved

"""The two tools for an agent: take a checkpoint, and see what going back to one would mean. Going back is none."""

from __future__ import annotations

from agentm_kernel.plugin import Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agentm_kernel.plugin import Device, ToolCall

_SHOWN = 40


def _device(call: ToolCall) -> Device:
    """With the store that the project of the agent's folder is in."""
    return call.device.of_store(call.device.bound_store(call.roots[0]))


def _checkpoint(call: ToolCall, reason: str) -> dict[str, object]:
    from agentm_checkpoint.capture import open_image, take
    from agentm_checkpoint.directories import folder_of, store_id
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.local_state import gather_known
    from agentm_checkpoint.replaced import open_history
    from agentm_checkpoint.settings import settings_of
    from agentm_kernel.plugin import refuse_secrets

    refuse_secrets("the reason", reason)
    device = _device(call)
    store = below_guard(device.store(read_only=False))
    folder = folder_of(device.state_dir, store_id(store))
    local = gather_known(folder, call.roots[0], open_history(store, device).head())
    image = open_image(store, device)
    author = settings_of(device).author
    taken = take(store, image, author=author, reason=f"{reason} ({call.client})", local=local)
    return {
        "status": "saved" if taken.is_new else "unchanged",
        "checkpoint": taken.snapshot.id,
        "notes": taken.snapshot.root.notes,
        "left_out": f"entries that are not notes: {len(taken.skipped)}" if taken.skipped else None,
        "store": store.describe(),
    }


def _plan_restore(call: ToolCall, checkpoint: str = "", path: str = "") -> dict[str, object]:
    from agentm_checkpoint.capture import open_image, survey
    from agentm_checkpoint.guard import below_guard
    from agentm_checkpoint.reading import read_tree
    from agentm_checkpoint.restoring import plan_restore
    from agentm_checkpoint.texts import agentm_of, counted

    device = _device(call)
    backend = device.store()
    store = below_guard(backend)
    image = open_image(store, device)
    if not checkpoint:
        known = [f"- {shot.id} {shot.when}: {shot.reason}" for shot in image.snapshots[::-1][:_SHOWN]]
        return {"store": store.describe(), "text": "\n".join(known) or "there are no checkpoints yet"}
    snapshot = image.find_certain(checkpoint)
    paths = (path,) if path else ()
    steps = plan_restore(
        backend, read_tree(snapshot.root, image.fetch), survey(store, image).leaves, paths=paths, keep_extra=False
    )
    fields: dict[str, object] = {"checkpoint": snapshot.id, "taken": snapshot.when, "store": store.describe()}
    if not steps:
        return {**fields, "status": "nothing would change"}
    listed = [f"- {step.verb} {step.key}" for step in steps[:_SHOWN]]
    if len(steps) > _SHOWN:
        listed.append(f"- and {len(steps) - _SHOWN:,} more")
    only = f" --path {path}" if path else ""
    ask = f"{agentm_of(device)} checkpoint restore {snapshot.id}{only}"
    fields |= {"status": f"{counted(len(steps), 'change')} planned, none made", "operator_runs": ask}
    return {**fields, "text": "\n".join(listed)}


CHECKPOINT = Tool(
    "checkpoint_memory",
    "Take a checkpoint of the whole memory before changing much of it.",
    _checkpoint,
    {"reason": {"type": "string", "minLength": 1, "maxLength": 200}},
    required=("reason",),
    only_reads=False,
    seconds=120.0,
)
RESTORE = Tool(
    "restore_memory",
    "Show what going back to a checkpoint would change, and the command with which the operator does it; changes "
    "nothing. Without a checkpoint: lists them.",
    _plan_restore,
    {
        "checkpoint": {"type": "string", "maxLength": 200, "description": "id, its beginning, or latest"},
        "path": {"type": "string", "maxLength": 1000, "description": "only this note or folder"},
    },
    seconds=120.0,
)

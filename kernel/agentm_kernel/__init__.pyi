# fmt: off
from collections.abc import Callable

from agentm_kernel.errors import AgentmError as AgentmError
from agentm_kernel.here import harness_state_dir as harness_state_dir, read_state_file as read_state_file, resolve_project as resolve_project, select_backend as select_backend, storage_preview as storage_preview, update_state_file as update_state_file, write_state_file as write_state_file
from agentm_kernel.process_seam import is_available as is_available, offer_save_here as offer_save_here, recall_here as recall_here, state_path as state_path
from agentm_kernel.seam.locator import Locator as Locator
from agentm_kernel.seam.update import update as update
from agentm_kernel.seam import Capabilities as Capabilities

__version__: str

def _lazy_door(door: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]: ...

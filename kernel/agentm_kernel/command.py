"""The door for plugins with commands: what they ask, show and refuse the way the kernel's own commands do."""

from __future__ import annotations

from agentm_kernel import _lazy_door

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see; a test holds it equal to the table below
    # fmt: off
    from agentm_kernel.cli.output import answering as answering, completing as completing, confirm as confirm, counted as counted, current_device as current_device, echo_json as echo_json, echo_table as echo_table, json_option as json_option, status_style as status_style, store_device as store_device, styled as styled, terminal_width as terminal_width, wrapped as wrapped
    from agentm_kernel.cli.set_up import conclude_set_up as conclude_set_up, selected_store as selected_store
    from agentm_kernel.cli import read_text as read_text, show_text as show_text, shown as shown, write_text as write_text
    from agentm_kernel.device.config_writer import bind_project as bind_project, set_value as set_value, unset_value as unset_value
    # fmt: on

_HOMES = {
    "cli.output": "answering completing confirm counted current_device echo_json echo_table json_option status_style store_device styled terminal_width wrapped",
    "cli.set_up": "conclude_set_up selected_store",
    "cli": "read_text show_text shown write_text",
    "device.config_writer": "bind_project set_value unset_value",
}

if not TYPE_CHECKING:  # hidden from type checkers: for them, a misspelt name must stay an error
    __getattr__, __dir__ = _lazy_door(__name__, _HOMES)

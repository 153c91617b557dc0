# fmt: off
from agentm_kernel.cli import read_text as read_text, show_text as show_text, shown as shown, write_text as write_text
from agentm_kernel.cli.output import answering as answering, completing as completing, confirm as confirm, counted as counted, current_device as current_device, echo_json as echo_json, echo_table as echo_table, json_option as json_option, store_device as store_device, styled as styled, tell_unread as tell_unread, terminal_width as terminal_width, wrapped as wrapped
from agentm_kernel.cli.set_up import conclude_set_up as conclude_set_up, selected_store as selected_store
from agentm_kernel.device.config_writer import bind_project as bind_project, set_value as set_value, unset_value as unset_value

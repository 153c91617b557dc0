"""The door for plugins with commands: what they ask, show and refuse the way the kernel's own commands do.

The names are listed in `command.pyi`, for type checkers and for this module alike.
"""

from agentm_kernel import _lazy_door

__getattr__, __dir__ = _lazy_door(__name__)

"""The door for plugin authors: everything that a store, layer, provider or hook plugin builds on.

Nothing else of the kernel may be imported by a plugin, and a gate sees to that (`python -m agentm_devkit.gates`). The
names are listed in `plugin.pyi`, for type checkers and for this module alike.
"""

from agentm_kernel import _lazy_door

__getattr__, __dir__ = _lazy_door(__name__)

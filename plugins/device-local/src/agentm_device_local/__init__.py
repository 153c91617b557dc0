"""The default store of agentm: a private folder of Markdown on this device."""

from agentm_device_local.backend import DeviceLocalBackend

__all__ = ["DeviceLocalBackend"]

__version__ = "0.2.0"

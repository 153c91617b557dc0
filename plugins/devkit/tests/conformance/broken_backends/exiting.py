"""A backend whose module ends the process that imports it as a plugin."""

import sys

from agentm_kernel.files.store import FileStore

if "agentm_devkit.conformance" not in sys.modules:
    sys.exit(3)


class Exiting(FileStore):
    pass

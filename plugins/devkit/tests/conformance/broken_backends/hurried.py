"""A backend whose module prints, and whose client library ends the process without the interpreter's tidying up."""

import atexit
import os

from agentm_kernel.files.store import FileStore

print("hurried backend loaded")
atexit.register(os._exit, 0)


class Hurried(FileStore):
    pass

"""A backend whose module starts a program when it is imported."""

import os

from agentm_kernel.files.store import FileStore

os.system("exit 0")


class Meddling(FileStore):
    pass

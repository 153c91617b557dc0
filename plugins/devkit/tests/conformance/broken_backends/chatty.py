"""A backend whose module greets whoever imports it."""

from agentm_kernel.files.store import FileStore

print("chatty backend loaded")


class Chatty(FileStore):
    pass

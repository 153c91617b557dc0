"""A backend whose module loads what it may never need."""

import logging

from agentm_kernel.files.store import FileStore

logger = logging.getLogger(__name__)


class Heavy(FileStore):
    pass

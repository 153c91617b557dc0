"""A backend whose module loads what it may never need."""

import asyncio
import http.server
import logging
import unittest.mock
import xml.dom.minidom

from agentm_kernel.files.store import FileStore

logger = logging.getLogger(__name__)
unused = (asyncio, http.server, unittest.mock, xml.dom.minidom)


class Heavy(FileStore):
    pass

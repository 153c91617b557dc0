"""Backends that are expensive, talkative or worse at import. Their modules import nothing of this package's table."""

from __future__ import annotations

from broken_backends.chatty import Chatty
from broken_backends.exiting import Exiting
from broken_backends.heavy import Heavy
from broken_backends.meddling import Meddling
from broken_backends.table import broken

broken("import_is_silent", saying="it printed 'chatty backend loaded\\n'")(Chatty)
broken("import_is_light", saying="Import modules where they are used")(Heavy)
broken("import_touches_nothing", saying="it did: os.system")(Meddling)
broken(
    "import_is_light",
    saying="importing broken_backends.exiting failed: the process ended with status 3",
    also=("import_is_silent", "import_touches_nothing"),
)(Exiting)

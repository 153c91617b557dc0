"""The broken backends are a package of their own: processes that checks start must be able to import it."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

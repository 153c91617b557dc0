"""Backends that keep notes, and not what the kernel keeps beside them."""

from __future__ import annotations

import json

from broken_backends.table import Memory, broken

from agentm_kernel.errors import NotFoundError


@broken("routing_repo_registry", saying="list_repos gave []", also=("accepted_keys", "routing"))
class ForgetsItsOwnMeta(Memory):
    """Takes `_meta` for its own place, and keeps nothing there for others."""

    def read(self, locator):
        if locator.parts[:1] == ("_meta",):
            raise NotFoundError(f"'{locator}' does not exist")
        return super().read(locator)

    def write(self, locator, content, *, if_match=None):
        return locator if locator.parts[:1] == ("_meta",) else super().write(locator, content, if_match=if_match)


@broken("routing_broken_registry", saying="returned")
class RepairsJson(Memory):
    def read(self, locator):
        text = super().read(locator)
        if locator.suffix == ".json" and text.startswith("{"):
            try:
                json.loads(text)
            except ValueError:
                return '{"version": 1, "repos": []}'
        return text


@broken("routing_ownership", saying="check_ownership(")
class KeepsMarkdownOnly(Memory):
    def write(self, locator, content, *, if_match=None):
        return locator if locator.name == "_project.json" else super().write(locator, content, if_match=if_match)

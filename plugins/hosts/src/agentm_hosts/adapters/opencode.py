"""OpenCode: a plugin file of ours, in JavaScript, asks the hooks and adds what they say to the system prompt."""

from __future__ import annotations

import os

from agentm_hosts.adapter import BEST_EFFORT, HostAdapter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_hosts.place import Change, Place

_PLUGIN = """\
// Written by `agentm connect opencode`; `agentm disconnect opencode` removes it.
import { spawn } from "node:child_process"

const PROGRAM = @PROGRAM@

// What a hook says; nothing if it cannot be asked, so that the agent goes on in any case.
function ask(event, payload) {
  return new Promise((done) => {
    let said = ""
    try {
      const child = spawn(PROGRAM, ["hook", event, "--host", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
      const timer = setTimeout(() => { child.kill(); done("") }, 5000)
      child.stdout.on("data", (chunk) => { said += chunk })
      child.on("error", () => { clearTimeout(timer); done("") })
      child.on("close", () => { clearTimeout(timer); done(said.trim()) })
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify(payload))
    } catch { done("") }
  })
}

export const Agentm = async ({ directory }) => {
  const started = new Map()
  const answers = new Map()
  const about = (session) => ({ session_id: session ?? "", cwd: directory })
  return {
    "chat.message": async (input, output) => {
      const prompt = (output.parts ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\\n")
      answers.set(input.sessionID, await ask("prompt", { ...about(input.sessionID), prompt }))
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID
      if (!started.has(session)) started.set(session, await ask("session-start", about(session)))
      for (const text of [started.get(session), answers.get(session)]) if (text) output.system.push(text)
    },
    "experimental.session.compacting": async (input, output) => {
      const text = await ask("pre-compact", about(input.sessionID))
      if (text) output.context.push(text)
      started.delete(input.sessionID)
    },
    event: async ({ event }) => {
      if (event.type === "session.idle") await ask("turn-end", about(event.properties?.sessionID))
      if (event.type === "session.deleted") await ask("session-end", about(event.properties?.info?.id))
    },
  }
}
"""


class OpenCode(HostAdapter):
    name = "opencode"
    title = "OpenCode"
    proof = BEST_EFFORT
    hooks: Mapping[str, str] = {
        "session-start": "experimental.chat.system.transform",
        "prompt": "chat.message",
        "pre-compact": "experimental.session.compacting",
        "turn-end": "session.idle",
        "session-end": "session.deleted",
    }
    programs = ("opencode",)
    tool_name = "agentm_{tool}"

    def passes_on(self, event: str) -> bool:
        return event in ("session-start", "prompt", "pre-compact")

    def wrap(self, event: str, text: str) -> str:
        return f"{text}\n"

    def folder(self, place: Place) -> str:
        if place.project is not None:
            return place.path(".opencode")
        base = place.environ.get("XDG_CONFIG_HOME", "")
        return os.path.join(base if os.path.isabs(base) else place.path(".config"), "opencode")

    def changes(self, place: Place) -> list[Change]:
        import json

        from agentm_hosts.place import SET, Change, Entry

        found = []
        if place.with_hooks:
            text = _PLUGIN.replace("@PROGRAM@", json.dumps(place.launcher))
            found.append(Change(os.path.join(self.folder(place), "plugins", "agentm.js"), "text", text=text))
        if place.with_mcp:
            server = {"type": "local", "command": [place.launcher, "mcp"], "enabled": True}
            found.append(Change(self._settings(place), "jsonc", (Entry(("mcp", "agentm"), server, SET),)))
        return found

    def _settings(self, place: Place) -> str:
        folder = place.project or self.folder(place)
        with_comments = os.path.join(folder, "opencode.jsonc")
        return with_comments if os.path.exists(with_comments) else os.path.join(folder, "opencode.json")


ADAPTER = OpenCode()

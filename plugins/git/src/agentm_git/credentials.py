"""The token for the origin: looked up when a request needs it, given to git in its environment, written nowhere.

An environment can be read by the same user while git runs, in /proc; a command line can be read by everybody.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agentm_git.runner import run_bounded
from agentm_kernel.plugin import StorageIOError, StorageSelectionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_git.settings import Settings

_COMMAND_LIMIT = 30.0
_THIS_MACHINE = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")
_ENDINGS = ("TOKEN", "PAT", "PASSWORD", "SECRET", "KEY")


class Access:
    """What one step tells git so that the origin lets it in."""

    def __init__(self, settings: dict[str, str], secrets: tuple[str, ...]) -> None:
        self.settings = settings
        self.secrets = secrets
        """What must not show up in any message."""

    def __repr__(self) -> str:
        return f"Access({len(self.secrets)} secrets)"


def access(settings: Settings, credentials: Mapping[str, str], environ: Mapping[str, str], folder: str) -> Access:
    """What to tell git now. An origin that is not reached over HTTP has its own ways: ssh its agent, say."""
    if not settings.remote.startswith(("https://", "http://")):
        return Access({}, ())
    token = _token(settings, credentials, environ, folder)
    if not token:
        return Access({}, ())
    address = urlsplit(settings.remote)
    if address.scheme == "http" and not _THIS_MACHINE.fullmatch(address.netloc):
        raise StorageSelectionError(
            f"{settings.remote} would carry the token in the clear", hint="use the https address of the origin"
        )
    pair = base64.b64encode(f"{settings.username}:{token}".encode()).decode()
    told = {
        f"http.{address.scheme}://{address.netloc}/.extraHeader": f"Authorization: Basic {pair}",
        "http.followRedirects": "false",  # git would take the header along to whatever host it is sent to
    }
    return Access(told, (token, pair))


def _token(settings: Settings, credentials: Mapping[str, str], environ: Mapping[str, str], folder: str) -> str | None:
    if settings.credential_command:
        return _from_command(settings, environ, folder)
    if settings.token_env:
        token = environ.get(settings.token_env, "").strip()
        if not token:
            raise StorageSelectionError(
                f"there is no token for {settings.remote}: ${settings.token_env} is not set",
                hint="export it where agentm runs; it is kept in no file",
            )
        return token
    names = sorted(credentials, key=lambda name: not name.endswith(_ENDINGS[:1]))
    fitting = [name for name in names if name.endswith(_ENDINGS)]
    return credentials[fitting[0]].strip() if fitting else None


def _from_command(settings: Settings, environ: Mapping[str, str], folder: str) -> str:
    """What the operator's own command prints. It is told for whom by its environment."""
    told = {"AGENTM_GIT_REMOTE": settings.remote, "AGENTM_GIT_INSTALLATION_ID": settings.installation_id}
    command = list(settings.credential_command)
    status, output, _ = run_bounded(command, {**environ, **told}, folder, None, _COMMAND_LIMIT)
    token = output.decode(errors="replace").strip()
    if status or not token or not token.isprintable() or "\ufffd" in token:
        raise StorageIOError(
            f"plugins.git.credential_command gave no token (it ended with {status})",
            hint=f"run `{command[0]}` by hand to see why",
        )
    return token

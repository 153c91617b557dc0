"""`agentm state`: a project's plan and progress, read and written where they belong.

`state read` is not here: hooks call it, so it is among the declared commands.
"""

from __future__ import annotations

import re
import sys

import click

from agentm_kernel.cli import read_text, shown, write_text
from agentm_kernel.cli.output import Answer, KernelGroup, completing, tell_unread
from agentm_kernel.cli.session_text import left_behind
from agentm_kernel.errors import AgentmError
from agentm_kernel.projects.checkout import path_as_text
from agentm_kernel.seam.backend import ABSENT
from agentm_kernel.seam.content import content_hash
from agentm_kernel.seam.secrets import refuse_secrets
from agentm_kernel.state import Device
from agentm_kernel.state.files import append_state_file, list_state_files, write_state_file
from agentm_kernel.state.plans import list_left_behind, list_plans_and_copies, meant_file, plan_files
from agentm_kernel.state.routing import Resolution, state_directory, state_file_path

command = KernelGroup("state", help="Read and write a project's plan, progress and other state files.")

_body_option = click.option(
    "--body-file", default="-", metavar="FILE", help="File with the text; - (the default) is standard input."
)
_allow_option = click.option(
    "--allow-secrets", is_flag=True, help="Write text that only looks as if it held a secret."
)
_file_argument = click.argument(
    "file", shell_complete=completing(lambda device: {"PLAN.md", "progress.md", *list_state_files(device.project())})
)


@command.answering("write")
@_file_argument
@_body_option
@click.option(
    "--if-match", metavar="HASH", help="Only if FILE has this sha256 now; `absent` for only if there is none yet."
)
@click.option("--allow-empty", is_flag=True, help="Empty FILE if the text is empty.")
@_allow_option
def write(
    device: Device,
    file: str,
    body_file: str,
    if_match: str | None,
    allow_empty: bool,
    allow_secrets: bool,
    cwd: str | None,
    answer: Answer,
) -> None:
    """Replace FILE by standard input, and print its path. `plan` and `progress` are the files of the active plan.

    Text that looks like it holds a secret is refused before the store sees it, with the line named.
    """
    if if_match is not None and not re.fullmatch("absent|[0-9a-f]{64}", if_match):
        raise click.UsageError(f"--if-match takes a sha256 in hex or `absent`, not {if_match!r}")
    condition = ABSENT if if_match == "absent" else if_match
    resolution, file, text = _given(device, file, body_file, cwd, allow_empty=allow_empty)
    written = write_state_file(resolution, file, text, if_match=condition, allow_secrets=allow_secrets)
    answer.update(file=file, path=path_as_text(written), hash=content_hash(text))
    _tell_written(resolution, written)


@command.answering("append")
@_file_argument
@_body_option
@_allow_option
def append(device: Device, file: str, body_file: str, allow_secrets: bool, cwd: str | None, answer: Answer) -> None:
    """Add standard input at the end of FILE, on a line of its own, losing nobody's edit; prints its path.

    Text that looks like it holds a secret is refused before the store sees it, with the line named.
    """
    resolution, file, text = _given(device, file, body_file, cwd)
    if not allow_secrets:
        refuse_secrets("the text", text)  # here, so that the line is counted in what was given
    written = append_state_file(resolution, file, text, allow_secrets=True)
    answer.update(file=file, path=path_as_text(written))
    _tell_written(resolution, written)


def _given(
    device: Device, file: str, body_file: str, cwd: str | None, *, allow_empty: bool | None = None
) -> tuple[Resolution, str, str]:
    """Where FILE is written, its name, and the text. A pipe whose other end failed, or `</dev/null`, must not cost a
    plan: no text, or white space alone, has to be allowed, and `append` (`None`) never allows it.
    """
    if file == "PLAN-PLAN.md":
        plan_files(file)  # nobody could choose such a plan: it is refused by its name
    resolution = device.project(cwd, read_only=False)
    if body_file == "-" and sys.stdin.isatty():
        click.echo("The text; end with Ctrl-D on an empty line.", err=True)
    text = read_text(body_file)
    if not (allow_empty or text.strip()):
        otherwise = "" if allow_empty is None else "; `--allow-empty` empties the file"
        hint = f"give it on standard input or with --body-file{otherwise}"
        raise AgentmError("the text is empty; nothing was written", hint=hint)
    return resolution, meant_file(resolution, file), text


def _tell_written(resolution: Resolution, path: str) -> None:
    write_text(f"{path}\n")
    if resolution.backend is not None:  # in mode `local` no store has a say
        tell_unread(resolution.root)


@command.answering("list")
def list_files(device: Device, cwd: str | None, answer: Answer) -> None:
    """List the project's state files."""
    resolution = device.project(cwd)
    names = list_state_files(resolution)
    if answer.is_wanted:
        answer.update(project=resolution.slug, directory=path_as_text(state_directory(resolution)), files=names)
        return
    for name in names:
        click.echo(shown(name))
    tell_rest(resolution, names, "no state files yet")


@command.answering("path")
@click.argument("file", required=False)
def path(device: Device, file: str | None, cwd: str | None, answer: Answer) -> None:
    """Print the directory of the state, or the path of FILE in it, whether or not it exists."""
    resolution = device.project(cwd)
    found = state_file_path(resolution, meant_file(resolution, file)) if file else state_directory(resolution)
    answer.update(project=resolution.slug, path=path_as_text(found))
    write_text(f"{found}\n")


def tell_rest(resolution: Resolution, names: list[str], nothing: str, prefix: str = "") -> None:
    """On standard error: what lies in the checkout and is not read, or else, without `names`, how to begin."""
    left = [name for name in list_left_behind(resolution, names) if name.startswith(prefix)]
    lines = [line for name in left if (line := left_behind(resolution, name))]
    if not (lines or names):
        copies = list_plans_and_copies(resolution)[1]
        lines = [f"{copy} is another version, and waits to be settled: see `agentm doctor`" for copy in copies]
    if not (lines or names):
        lines = [f"{nothing}: `agentm state write PLAN.md` makes a plan of standard input"]
    for line in lines:
        click.echo(shown(line, err=True), err=True)

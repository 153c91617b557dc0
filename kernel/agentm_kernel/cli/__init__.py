"""The command line: `main` decides, `command_table` answers hooks without click, `app` is everything else.

Here is what all of them need: how modules are found; standard streams, byte for byte; and how a command ends, every
failure as two lines on standard error and an exit code, never as a traceback.
"""
# ruff: noqa: E402

from __future__ import annotations

import os
import sys
import time
from _frozen_importlib import BuiltinImporter, ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from marshal import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType
    from typing import Any, NoReturn

# ------------------------------------------------------------------------------------------------ finding modules
# A hook takes a twentieth less with this, and works as well without: nothing else in agentm knows of it. It stands
# first, so that what is imported below is found by it.

_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_HEADER = MAGIC_NUMBER + bytes(4)
_CACHED = f"{os.sep}__pycache__{os.sep}"
_COMPILED = f".{sys.implementation.cache_tag}.pyc"
_LONGEST = 40_000  # bytes of a compiled form; for more, the system would be asked for memory each time


class QuickFinder:
    """Finds agentm's packages and their modules, of which a command loads dozens, by looking where they must be.

    What Python does for each takes twice as long: it lists folders and asks for five kinds of files. Whatever is not
    a source file with its compiled form beside it is left to Python, and so is a compiled form that is out of date,
    and a search path with an archive or the working directory in front.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: object = None) -> ModuleSpec | None:
        if not name.startswith("agentm_"):
            return None
        last = name.rpartition(".")[2]
        for root in sys.path if path is None else path:
            if not root:
                return None
            for folder, module in ((root, last), (f"{root}{os.sep}{last}", "__init__")):
                try:
                    status = os.stat(f"{folder}{os.sep}{module}.py")
                except FileNotFoundError:
                    continue
                except OSError:
                    return None
                return _spec(name, folder, module, status)
        return None


def _spec(name: str, folder: str, module: str, status: os.stat_result) -> ModuleSpec:
    source = f"{folder}{os.sep}{module}.py"
    loader = _QuickLoader(name, source)
    loader.cached = f"{folder}{_CACHED}{module}{_COMPILED}"
    # As PEP 552 says: which Python, no flags, when the source was changed, and how long it is.
    changed, size = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    loader.header = _HEADER + (changed | size << 32).to_bytes(8, "little")
    spec = ModuleSpec(name, loader, origin=source, is_package=module == "__init__")
    spec.has_location, spec.cached = True, loader.cached
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(folder)
    return spec


class _QuickLoader(SourceFileLoader):
    cached: str
    header: bytes

    def get_code(self, fullname: str) -> CodeType | None:
        try:
            descriptor = os.open(self.cached, _READING)
            try:
                compiled = os.read(descriptor, _LONGEST)
            finally:
                os.close(descriptor)
            if compiled.startswith(self.header) and len(compiled) < _LONGEST:
                return loads(memoryview(compiled)[16:])  # type: ignore[no-any-return]  # noqa: S302 - as Python does
        except OSError:
            pass
        return super().get_code(fullname)


_is_elsewhere = not sys.implementation.cache_tag or sys.pycache_prefix or sys.flags.optimize
if BuiltinImporter in sys.meta_path and not _is_elsewhere:
    sys.meta_path.insert(sys.meta_path.index(BuiltinImporter), QuickFinder)


# ------------------------------------------------------------------------------------------------ standard streams

from agentm_kernel.errors import AgentmError, one_line  # not `errors`: the package would read its stub to find it
from agentm_kernel.files import in_a_thread

SCHEMA = 1  # the shape of every JSON answer; a change that readers would notice gets the next number
_ON_SCREEN = frozenset("\n\t\u00a0\u3000\u200c\u200d")
"""Kept although Python does not call it printable: line ends, wide spaces, and what joins letters and emoji."""
DEBUG_VARIABLE = "AGENTM_DEBUG"
PATIENCE_VARIABLE = "AGENTM_PATIENCE"
SECONDS = 1.9


def read_text(path: str) -> str:
    """The text of `path`, or of standard input for `-`, byte for byte."""
    try:
        if path == "-":
            return sys.stdin.buffer.read().decode()
        with open(path, "rb") as file:
            return file.read().decode()
    except (OSError, UnicodeDecodeError) as error:
        hint = "give a file with UTF-8 text, or - for standard input"
        raise AgentmError(f"cannot read {path}: {error}", hint=hint) from error


def json_text(**fields: Any) -> str:
    """One JSON object, with the number of its shape first. What is no text in a path is escaped, as JSON does it."""
    from agentm_kernel.device.json_text import encoded

    return encoded({"schema": SCHEMA, **fields}).decode()


def shown(text: str, *, err: bool = False) -> str:
    r"""`text` of a note, or a file's name, for standard output, or for standard error with `err`.

    A terminal obeys what it is sent: a note could write the clipboard, retitle the window or hide a line. So on a
    terminal every control character is spelled out (`\x1b`). A pipe or a file gets the text as it is.
    """
    stream = sys.stderr if err else sys.stdout
    if text.isprintable() or not stream.isatty():
        return text
    return "".join(c if c.isprintable() or c in _ON_SCREEN else ascii(c)[1:-1] for c in text)


def show_text(text: str) -> None:
    """`write_text` for notes and file names: a terminal, which would obey it, sees control characters spelled out."""
    write_text(shown(text))


def write_text(text: str) -> None:
    """Print `text` as UTF-8 bytes, as it is: a locale that cannot express a path must not change it."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


# ------------------------------------------------------------------------------------------------ how a command ends


def report(error: AgentmError) -> None:
    """`error:` and, where there is one, `hint:`; one line each, whatever the text holds. A no is told as it is."""
    from agentm_kernel.errors import DeclinedError

    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        traceback.print_exception(error)
    code = f" [{error.code}]" if error.code else ""
    label = "" if isinstance(error, DeclinedError) else "error: "
    sys.stderr.write(f"{label}{one_line(error.message)}{code}\n")
    if error.hint:
        sys.stderr.write(f"hint: {one_line(error.hint)}\n")


def exit_code_of(work: Callable[[], int], *, as_json: bool = False) -> int:
    """Run `work`, say what went wrong if something did, in JSON too where it was asked for; the exit code."""
    try:
        code = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        return 130
    except BrokenPipeError:
        _give_output_up()  # whoever read our output has gone: nothing is left to say
        return 1
    except SystemExit:
        raise
    except BaseException as error:  # noqa: BLE001 - a bug, ours or a plugin's: said in one line, and in full on demand
        if isinstance(error, OSError) and not _is_written(""):  # it was about our output, and nothing else
            report(AgentmError(f"the output cannot be written: {error.strerror}"))
            return 1
        found = error if isinstance(error, AgentmError) else _unexpected(error)
        report(found)
        if as_json:  # an object is printed in any case, with what was done before; if not, the lines have said it
            _is_written(json_text(**found.details, error=found.message, code=found.code, hint=found.hint))
        return found.exit_code
    return code


def _unexpected(error: BaseException) -> AgentmError:
    """A bug, told with the module it happened in: a plugin's command may have brought it."""
    module, trace = "agentm", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__") or module
        trace = trace.tb_next
    said = f"something unexpected happened in {module.partition('.')[0]}: {type(error).__name__}: {error}"
    found = AgentmError(said, hint=f"run it again with {DEBUG_VARIABLE}=1 to see where, and report it")
    found.__cause__ = error
    return found


def _is_written(text: str) -> bool:
    """Whether standard output takes `text` and what is waiting for it; if not, it is given up."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        _give_output_up()
        return False
    return True


def _give_output_up() -> None:
    """Python must not try again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def patience(environ: Mapping[str, str], otherwise: float = SECONDS) -> float:
    """Seconds that a command, or with its own `otherwise` a plugin, may take; `$AGENTM_PATIENCE` for what is slow."""
    try:
        return max(0.1, float(environ.get(PATIENCE_VARIABLE, "")))
    except ValueError:
        return otherwise


def limit(command: str, seconds: float) -> None:
    """End this process with an error that says who was waited for, unless it has ended by then.

    For commands that only look something up: a store that hangs must not hang the agent that asks.
    """
    deadline = time.monotonic() + seconds

    def end_late() -> None:
        time.sleep(max(0.0, deadline - time.monotonic()))
        hint = f"run `agentm doctor`; {PATIENCE_VARIABLE}=30 in the environment lets it take longer"
        report(AgentmError(f"`agentm {command}` took more than {seconds:g} s{waiting_for()}", hint=hint))
        sys.stderr.flush()
        end_process(1)

    in_a_thread(end_late)  # where there can be none, what hangs is left to whoever started us


def waiting_for() -> str:
    """Which plugin is being waited for, in words that follow a sentence; nothing if it is none."""
    calling = sys.modules.get("agentm_kernel.plugins")
    if calling is None or not calling.active:
        return ""
    label, doing = calling.active[-1]
    return f": the {label} has not answered ({doing})"


def end_process(code: int) -> NoReturn:
    """`os._exit`, also while a plugin runs that is not allowed to call it."""
    calling = sys.modules.get("agentm_kernel.plugins")
    leave: Callable[[int], NoReturn] = os._exit if calling is None else calling.end_process
    leave(code)

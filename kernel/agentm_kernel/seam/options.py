"""What a plugin can be told in the configuration: each option with its type, its default and what it means.

A plugin declares them once, as a tuple of `Option`, and names it in the entry-point group `agentm.options`, under the
name of its table `plugins.<name>`. `config set` then checks values, `config list` and `plugins show` explain them,
and shells complete them. A misspelt option is not passed over: what was meant by it would not happen.
"""

from __future__ import annotations

from agentm_kernel.errors import ConfigError, StorageSelectionError
from agentm_kernel.seam import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_KINDS = {
    "text": (str,),
    "path": (str,),
    "number": (int, float),
    "flag": (bool,),
    "list": (list, str),
    "table": (dict,),
    "any": (object,),
}


class Option(Frozen):
    """One option; `kind` is `text`, `path`, `number`, `flag`, `list` (a text with commas will do), `table`, `any`."""

    name: str
    kind: str
    meaning: str
    default: str = ""  # in words, for people; what happens without the option
    secret: bool = False  # its value is not shown

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"the kind of an option is {', '.join(_KINDS)}; not {self.kind!r}")

    def fits(self, value: object) -> bool:
        """Whether the option can have this value."""
        return isinstance(value, _KINDS[self.kind]) and not (self.kind == "number" and isinstance(value, bool))

    def check(self, table: str, value: object, place: str = "") -> None:
        """Raise `ConfigError` unless the option, of the plugin's table or in `place`, can have this value."""
        if not self.fits(value):
            what = f"{place or f'plugins.{table}'}.{self.name}"
            raise ConfigError(f"{what} is a {self.kind}, not {type(value).__name__}", hint=self.meaning)


def check_option(table: str, name: str, value: object, declared: Sequence[Option], place: str = "") -> None:
    """Raise `ConfigError` unless the table declares such an option, and it can have this value."""
    first, _, inside = name.partition(".")
    option = next((option for option in declared if option.name == first), None)
    if option is not None and inside and option.kind in ("table", "any"):
        return  # what is inside of a table is the plugin's own
    if option is None or inside:
        known = ", ".join(["backend", "wrappers"] * bool(place) + [option.name for option in declared])
        hint = f"there are {known}: see `agentm plugins show {table}`"
        raise ConfigError(f"{place or f'plugins.{table}'} has no option '{name}'", hint=hint)
    option.check(table, value, place)


def check_options(name: str, given: Iterable[str], declared: Sequence[Option]) -> None:
    """Raise `StorageSelectionError` if the table `plugins.<name>` has an option that is not declared."""
    known = [option.name for option in declared]
    if unknown := sorted(set(given).difference(known)):
        raise StorageSelectionError(
            f"plugins.{name} has no option '{unknown[0]}'; there are {', '.join(known)}",
            hint=f"run `agentm config unset plugins.{name}.{unknown[0]}`",
        )

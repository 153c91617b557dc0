"""agentm: the memory of a coding agent that provably does not lose or misplace a note.

Every public name is importable from here and loaded when it is first used, so `import agentm_kernel` costs next to
nothing. Where a name lives inside the package may change; that it can be had from here does not.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # what type checkers see; a test holds it equal to the table below
    from agentm_kernel.cli.hook_verbs import (
        read_text as read_text,
        show_text as show_text,
    )
    from agentm_kernel.cli.output import (
        confirm as confirm,
        echo_json as echo_json,
        echo_table as echo_table,
        json_option as json_option,
        shown as shown,
        styled as styled,
    )
    from agentm_kernel.cli.set_up import (
        conclude_set_up as conclude_set_up,
        selected_store as selected_store,
    )
    from agentm_kernel.device.directories import (
        cache_directory as cache_directory,
    )
    from agentm_kernel.errors import (
        ActivePlanError as ActivePlanError,
        AgentmError as AgentmError,
        AuthorizationError as AuthorizationError,
        BackendNotInstalledError as BackendNotInstalledError,
        CapabilityMismatchError as CapabilityMismatchError,
        ConcurrentModificationError as ConcurrentModificationError,
        ConfigError as ConfigError,
        IntegrityError as IntegrityError,
        InvalidContentError as InvalidContentError,
        InvalidLocatorError as InvalidLocatorError,
        LocatorConflictError as LocatorConflictError,
        LockTimeout as LockTimeout,
        NotFoundError as NotFoundError,
        PluginError as PluginError,
        ProtocolError as ProtocolError,
        StorageConflictError as StorageConflictError,
        StorageError as StorageError,
        StorageIOError as StorageIOError,
        StorageReadOnlyError as StorageReadOnlyError,
        StorageRefUnresolvableError as StorageRefUnresolvableError,
        StorageSelectionError as StorageSelectionError,
        StoreIdentityError as StoreIdentityError,
    )
    from agentm_kernel.files.atomic import (
        atomic_write as atomic_write,
    )
    from agentm_kernel.files.mutex import (
        store_mutex as store_mutex,
    )
    from agentm_kernel.files.store import (
        FileStore as FileStore,
    )
    from agentm_kernel.plugins.hooks import (
        HookCaller as HookCaller,
        current_context as current_context,
        installed_plugins as installed_plugins,
    )
    from agentm_kernel.plugins.hookspecs import (
        hookimpl as hookimpl,
    )
    from agentm_kernel.plugins.named import (
        find_plugin as find_plugin,
        load_plugin as load_plugin,
    )
    from agentm_kernel.plugins.values import (
        Alert as Alert,
        DoctorRow as DoctorRow,
        HookContext as HookContext,
        PluginFailure as PluginFailure,
        Section as Section,
    )
    from agentm_kernel.process_seam import (
        is_available as is_available,
        offer_save_here as offer_save_here,
        recall_here as recall_here,
        state_path as state_path,
    )
    from agentm_kernel.projects.repo_registry import (
        list_repos as list_repos,
        read_registry as read_registry,
        register_repo as register_repo,
        registry_locator as registry_locator,
        unregister_repo as unregister_repo,
    )
    from agentm_kernel.seam.backend import (
        ABSENT as ABSENT,
        API_VERSION as API_VERSION,
        Absent as Absent,
        DeviceCopy as DeviceCopy,
        DeviceFiles as DeviceFiles,
        StorageBackend as StorageBackend,
    )
    from agentm_kernel.seam.content import (
        content_hash as content_hash,
        decode_content as decode_content,
        encode_content as encode_content,
    )
    from agentm_kernel.seam.folders import (
        Folder as Folder,
        FolderWalk as FolderWalk,
        walk_folders as walk_folders,
    )
    from agentm_kernel.seam.layer import (
        BackendLayer as BackendLayer,
    )
    from agentm_kernel.seam.locator import (
        Locator as Locator,
        normalize_key as normalize_key,
    )
    from agentm_kernel.seam.options import (
        check_options as check_options,
    )
    from agentm_kernel.seam.personal import (
        Authorization as Authorization,
        PersonalSpace as PersonalSpace,
    )
    from agentm_kernel.seam.provider import (
        Author as Author,
        Change as Change,
        ProviderContext as ProviderContext,
        SyncOutcome as SyncOutcome,
        SyncRules as SyncRules,
        SyncTrigger as SyncTrigger,
        WatchedStore as WatchedStore,
        WorkingCopy as WorkingCopy,
    )
    from agentm_kernel.seam.registry import (
        BackendRegistry as BackendRegistry,
        registry as registry,
    )
    from agentm_kernel.seam.tiers import (
        DerivedMaintenance as DerivedMaintenance,
        Tier as Tier,
        TierLayout as TierLayout,
    )
    from agentm_kernel.seam.update import (
        update as update,
    )
    from agentm_kernel.seam.values import (
        Capabilities as Capabilities,
        Info as Info,
        OpenContext as OpenContext,
    )
    from agentm_kernel.selection.adopting import (
        adopt_store as adopt_store,
        check_store as check_store,
        select_store as select_store,
    )
    from agentm_kernel.selection.identity import (
        read_stamp as read_stamp,
        stamp as stamp,
    )
    from agentm_kernel.selection.open import (
        StoragePreview as StoragePreview,
        choose_protocol as choose_protocol,
        select_backend as select_backend,
        storage_preview as storage_preview,
    )
    from agentm_kernel.state.files import (
        list_state_files as list_state_files,
        read_state_file as read_state_file,
        update_state_file as update_state_file,
        write_state_file as write_state_file,
    )
    from agentm_kernel.state.plans import (
        list_plan_files as list_plan_files,
        resolve_active_plan as resolve_active_plan,
    )
    from agentm_kernel.state.resolution import (
        Resolution as Resolution,
    )
    from agentm_kernel.state.resolve import (
        harness_state_dir as harness_state_dir,
        resolve_project as resolve_project,
    )

_HOMES = {
    "errors": (
        "ActivePlanError",
        "AgentmError",
        "AuthorizationError",
        "BackendNotInstalledError",
        "CapabilityMismatchError",
        "ConcurrentModificationError",
        "ConfigError",
        "IntegrityError",
        "InvalidContentError",
        "InvalidLocatorError",
        "LocatorConflictError",
        "LockTimeout",
        "NotFoundError",
        "PluginError",
        "ProtocolError",
        "StorageConflictError",
        "StorageError",
        "StorageIOError",
        "StorageReadOnlyError",
        "StorageRefUnresolvableError",
        "StorageSelectionError",
        "StoreIdentityError",
    ),
    "seam.backend": (
        "ABSENT",
        "API_VERSION",
        "Absent",
        "DeviceCopy",
        "DeviceFiles",
        "StorageBackend",
    ),
    "seam.content": (
        "content_hash",
        "decode_content",
        "encode_content",
    ),
    "seam.folders": (
        "Folder",
        "FolderWalk",
        "walk_folders",
    ),
    "seam.layer": ("BackendLayer",),
    "seam.locator": (
        "Locator",
        "normalize_key",
    ),
    "seam.options": ("check_options",),
    "seam.personal": (
        "Authorization",
        "PersonalSpace",
    ),
    "seam.provider": (
        "Author",
        "Change",
        "ProviderContext",
        "SyncOutcome",
        "SyncRules",
        "SyncTrigger",
        "WatchedStore",
        "WorkingCopy",
    ),
    "seam.registry": (
        "BackendRegistry",
        "registry",
    ),
    "seam.tiers": (
        "DerivedMaintenance",
        "Tier",
        "TierLayout",
    ),
    "seam.update": ("update",),
    "seam.values": (
        "Capabilities",
        "Info",
        "OpenContext",
    ),
    "device.directories": ("cache_directory",),
    "files.atomic": ("atomic_write",),
    "files.mutex": ("store_mutex",),
    "files.store": ("FileStore",),
    "plugins.hookspecs": ("hookimpl",),
    "plugins.hooks": (
        "HookCaller",
        "current_context",
        "installed_plugins",
    ),
    "plugins.named": (
        "find_plugin",
        "load_plugin",
    ),
    "plugins.values": (
        "Alert",
        "DoctorRow",
        "HookContext",
        "PluginFailure",
        "Section",
    ),
    "selection.identity": (
        "read_stamp",
        "stamp",
    ),
    "selection.adopting": (
        "adopt_store",
        "check_store",
        "select_store",
    ),
    "selection.open": (
        "StoragePreview",
        "choose_protocol",
        "select_backend",
        "storage_preview",
    ),
    "projects.repo_registry": (
        "list_repos",
        "read_registry",
        "register_repo",
        "registry_locator",
        "unregister_repo",
    ),
    "state.resolution": ("Resolution",),
    "state.resolve": (
        "harness_state_dir",
        "resolve_project",
    ),
    "state.files": (
        "list_state_files",
        "read_state_file",
        "update_state_file",
        "write_state_file",
    ),
    "state.plans": (
        "list_plan_files",
        "resolve_active_plan",
    ),
    "cli.hook_verbs": (
        "read_text",
        "show_text",
    ),
    "cli.output": (
        "confirm",
        "echo_json",
        "echo_table",
        "json_option",
        "shown",
        "styled",
    ),
    "cli.set_up": (
        "conclude_set_up",
        "selected_store",
    ),
    "process_seam": (
        "is_available",
        "offer_save_here",
        "recall_here",
        "state_path",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__version__ = "0.1.0"
__all__ = sorted(_HOME_OF)  # noqa: PLE0605


def __getattr__(name: str) -> object:
    if name == "vault_mutex":  # the name under which the seed documents know it
        name = "store_mutex"
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agentm_kernel' has no attribute {name!r}")
    # not importlib.import_module: importing importlib is a tenth of what a hook may cost
    value: object = getattr(__import__(f"agentm_kernel.{home}", fromlist=[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]

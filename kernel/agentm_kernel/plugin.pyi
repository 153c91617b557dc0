# fmt: off
from agentm_kernel.cli.hook import HookCall as HookCall
from agentm_kernel.device.installed import BACKENDS as BACKENDS, PluginRecord as PluginRecord, TOOLS as TOOLS
from agentm_kernel.errors import ActivePlanError as ActivePlanError, AgentmError as AgentmError, AuthorizationError as AuthorizationError, BackendNotInstalledError as BackendNotInstalledError, CapabilityMismatchError as CapabilityMismatchError, ConcurrentModificationError as ConcurrentModificationError, ConfigError as ConfigError, DeclinedError as DeclinedError, IntegrityError as IntegrityError, InvalidContentError as InvalidContentError, InvalidLocatorError as InvalidLocatorError, LocatorConflictError as LocatorConflictError, LockTimeout as LockTimeout, NotFoundError as NotFoundError, PluginError as PluginError, ProtocolError as ProtocolError, StorageConflictError as StorageConflictError, StorageError as StorageError, StorageIOError as StorageIOError, StorageReadOnlyError as StorageReadOnlyError, StorageRefUnresolvableError as StorageRefUnresolvableError, StorageSelectionError as StorageSelectionError, StoreIdentityError as StoreIdentityError, one_line as one_line
from agentm_kernel.files import current_directory as current_directory
from agentm_kernel.files.atomic import atomic_write as atomic_write
from agentm_kernel.files.known_names import FolderNames as FolderNames
from agentm_kernel.files.medium import CONFLICTS as CONFLICTS, EditedFolder as EditedFolder, Medium as Medium, conflict_place as conflict_place
from agentm_kernel.files.medium import Beside as Beside  # a type, and nothing at run time
from agentm_kernel.files.mutex import StoreMutex as StoreMutex, store_mutex as store_mutex
from agentm_kernel.files.native_lock import DirectoryLock as DirectoryLock
from agentm_kernel.files.store import FileStore as FileStore
from agentm_kernel.files.tree import Directory as Directory, make_private_folder as make_private_folder
from agentm_kernel.files.writing import BytesTree as BytesTree
from agentm_kernel.here import choose_protocol as choose_protocol, list_plan_files as list_plan_files, list_state_files as list_state_files, resolve_active_plan as resolve_active_plan
from agentm_kernel.plugins import Call as Call, StdoutToStderr as StdoutToStderr, in_time as in_time, reason_of as reason_of
from agentm_kernel.plugins.events import EVENTS as EVENTS, Event as Event, PULLING as PULLING, PUSHING as PUSHING, is_event as is_event
from agentm_kernel.plugins.hooks import HookCaller as HookCaller
from agentm_kernel.plugins.hookspecs import Alert as Alert, DoctorRow as DoctorRow, HookContext as HookContext, Panel as Panel, PluginFailure as PluginFailure, Section as Section, Tool as Tool, ToolCall as ToolCall, hookimpl as hookimpl
from agentm_kernel.plugins.table import find_plugin as find_plugin, load as load, load_backend as load_backend, load_plugin as load_plugin, permitted as permitted, unusable as unusable
from agentm_kernel.projects import HARNESS_DIR as HARNESS_DIR, find_project_root as find_project_root
from agentm_kernel.projects.checkout import Checkout as Checkout, binding_keys as binding_keys, plain_slug as plain_slug
from agentm_kernel.projects.claiming import add_remote as add_remote, change_record as change_record, claim as claim, claim_name as claim_name, create_record as create_record, point as point, record_move as record_move
from agentm_kernel.projects.git_ignore import hide_from_git as hide_from_git
from agentm_kernel.projects.lookup import Checkouts as Checkouts, MOVED_TO_STORE as MOVED_TO_STORE, ProjectRecord as ProjectRecord, find_place as find_place, has_notes as has_notes, read_pointer as read_pointer, read_record as read_record, records as records
from agentm_kernel.projects.repo_registry import list_repos as list_repos, read_registry as read_registry, register_repo as register_repo, registry_locator as registry_locator, unregister_repo as unregister_repo
from agentm_kernel.seam import Capabilities as Capabilities, Frozen as Frozen, Info as Info, MAX_CONTENT_BYTES as MAX_CONTENT_BYTES, Opening as Opening, layout as layout
from agentm_kernel.seam.backend import ABSENT as ABSENT, API_VERSION as API_VERSION, Absent as Absent, Appends as Appends, BackendLayer as BackendLayer, COMMIT as COMMIT, ConflictCopies as ConflictCopies, DeviceCopy as DeviceCopy, DeviceFiles as DeviceFiles, Identity as Identity, PUSH as PUSH, PersonalSpace as PersonalSpace, SWAP_PROVIDER as SWAP_PROVIDER, StorageBackend as StorageBackend
from agentm_kernel.seam.content import check_size as check_size, content_hash as content_hash, decode_content as decode_content, encode_content as encode_content
from agentm_kernel.seam.facets import ConflictCopy as ConflictCopy, FACETS as FACETS, History as History, Rules as Rules, Sealed as Sealed, Transfer as Transfer, Unguarded as Unguarded, Version as Version, WatchedStore as WatchedStore, WorkingCopy as WorkingCopy
from agentm_kernel.seam.folders import Folder as Folder, FolderWalk as FolderWalk, walk_folders as walk_folders
from agentm_kernel.seam.layout import STAMP_KEY as STAMP_KEY
from agentm_kernel.seam.locator import Locator as Locator, MAX_KEY_BYTES as MAX_KEY_BYTES, MAX_SEGMENT_BYTES as MAX_SEGMENT_BYTES, TEMP_PREFIX as TEMP_PREFIX, normalize_key as normalize_key
from agentm_kernel.seam.options import Option as Option, check_options as check_options
from agentm_kernel.seam.provider import Author as Author, Change as Change, ProviderContext as ProviderContext, SyncOutcome as SyncOutcome, SyncRules as SyncRules, SyncTrigger as SyncTrigger
from agentm_kernel.seam.provider import Opener as Opener  # a type, and nothing at run time
from agentm_kernel.seam.registry import BackendRegistry as BackendRegistry, registry as registry
from agentm_kernel.seam.secrets import find_secrets as find_secrets, is_bare_secret as is_bare_secret, names_a_secret as names_a_secret, refuse_secrets as refuse_secrets
from agentm_kernel.seam.tier_layout import DerivedMaintenance as DerivedMaintenance, TierLayout as TierLayout
from agentm_kernel.seam.tiers import Tier as Tier
from agentm_kernel.seam.update import append as append, read_or_none as read_or_none, update as update
from agentm_kernel.selection.adopting import UnidentifiedStore as UnidentifiedStore, add_wrapper as add_wrapper, open_other as open_other, open_unidentified as open_unidentified, refuse_nested as refuse_nested, return_identity as return_identity, select_store as select_store
from agentm_kernel.selection.identity import adopt_store as adopt_store, check_store as check_store, known_stores as known_stores, read_stamp as read_stamp, stamp_store as stamp_store
from agentm_kernel.state import Device as Device
from agentm_kernel.state.mirrored import MirroredState as MirroredState
from agentm_kernel.state.routing import Resolution as Resolution

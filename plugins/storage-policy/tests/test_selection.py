"""`storage.policy` on a device: selected, refused, set up, synced by events, and left again, by the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

POLICY = "---\nprovider: {provider}\nconfig: {{{config}}}\n{more}---\n"
SYNCING = """
import os
from agentm_kernel.plugin import FileStore, SyncOutcome, WorkingCopy

class Copy(FileStore, WorkingCopy):
    self_stamping = True

    def __init__(self, root):
        super().__init__(root, create_root=True)
        self.log = root + ".log"

    def _say(self, *words):
        with open(self.log, "a") as log:
            log.write(" ".join(words) + "\\n")
        return SyncOutcome(True, ref="r1")

    def has_changes(self):
        return not os.path.exists(self.log) or "commit" not in open(self.log).read()

    def pull(self, trigger):
        return self._say("pull", trigger.event)

    def commit(self, message, authors, trigger):
        if os.environ.get("BREAK"):
            raise RuntimeError("the disk of the origin is full")
        return self._say("commit", trigger.event, message, *map(str, authors))

    def push(self, trigger):
        return self._say("push", trigger.event)

def open_copy(config, credentials, context):
    return Copy(config["place"])
"""


@pytest.fixture
def selected(device):
    """A device that uses a policy."""

    def use(provider="local-fs", config=None, more=""):
        (device.home / "notes").mkdir(exist_ok=True)
        path = device.home / "STORAGE.md"
        path.write_text(
            POLICY.format(provider=provider, config=config or f"mount_path: {device.home}/notes", more=more)
        )
        device.agentm("config", "set", "storage.policy", str(path))
        return path

    return use


def test_a_policy_s_store_is_not_set_up_inside_of_another_one_nor_around_one(device, selected):
    selected()
    for stamp in (device.home / "_meta" / "store.json", device.home / "notes" / "deep" / "_meta" / "store.json"):
        stamp.parent.mkdir(parents=True)
        stamp.write_text("{}")
        refused = device.agentm("policy", "init", "--adopt", code=1)
        assert "one store does not hold another" in refused.stderr
        stamp.unlink()
    assert not (device.home / "notes" / "_meta").exists()


def test_a_policy_is_set_up_once_and_used(device, selected):
    selected()
    device.agentm("config", "set", "state_mode", "backend")
    doctor = device.agentm("doctor").stdout
    assert "has no identity stamp" in doctor
    refused = device.agentm("policy", "init", str(device.home), code=1)
    assert f"is at {device.home}/notes, not at" in refused.stderr
    assert "is at" in device.agentm("policy", "init", str(device.home / "notes")).stdout
    around = device.home / "_meta" / "store.json"
    around.parent.mkdir()
    around.write_text("{}")
    again = device.agentm("policy", "init").stdout
    assert "is at" in again, "what is marked already stays as it is, even if another store is around it by now"
    around.unlink()
    shown = json.loads(device.agentm("store", "show", "--json").stdout)
    assert (shown["protocol"], shown["place"]) == ("policy", str(device.home / "notes"))
    assert f"backend 'policy' at {device.home}/notes" in device.agentm("doctor").stdout


def test_a_folder_with_notes_is_adopted_only_when_told(device, selected):
    selected()
    (device.home / "notes" / "mine.md").write_text("x\n")
    assert "--adopt" in device.agentm("policy", "init", code=1).stderr
    device.agentm("policy", "init", "--adopt")


def test_a_read_only_policy_is_not_even_marked(device, selected):
    selected(more="read_only: true\n")
    assert "read-only" in device.agentm("policy", "init", code=1).stderr
    assert list((device.home / "notes").iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.unlink(), "cannot be read: there is no such file"),
        (lambda path: path.write_text("---\nprovider: x: y\n---\n"), "STORAGE.md:2:12"),
        (lambda path: path.write_text(path.read_text().replace("local-fs", "gitub")), "STORAGE.md:2:11"),
        (lambda path: path.write_text(path.read_text().replace("notes", "gone")), "is missing"),
    ],
    ids=["missing", "broken", "unknown provider", "folder missing"],
)
def test_a_policy_that_cannot_be_used_is_refused_by_everything_in_the_same_words(device, selected, change, words):
    change(selected())
    doctor = device.agentm("doctor", code=1).stdout
    show = device.agentm("store", "show", code=1).stderr
    assert words in doctor
    assert words in show
    assert not (device.home / ".agentm").exists(), "nothing took its place"
    assert device.agentm("hook", "session-start").stdout.count("Project state is not available") == 1


def by_hand(device, key, value):
    """What somebody wrote into the file with an editor."""
    path = Path(device.agentm("config", "path").stdout.strip())
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))


def test_options_that_cannot_be_understood_are_refused(device, selected):
    selected()
    for option, value in (("colour", "blue"), ("registry", "[]")):
        assert "plugins.policy" in device.agentm("config", "set", f"plugins.policy.{option}", value, code=1).stderr
    by_hand(device, "plugins.policy.colour", "blue")
    assert "plugins.policy has no option 'colour'" in device.agentm("store", "show", code=1).stderr
    device.agentm("config", "unset", "plugins.policy.colour")
    by_hand(device, "plugins.policy.registry", [])
    (device.home / "STORAGE.md").write_text('---\nref: "@acme/x"\n---\n')
    assert "plugins.policy.registry" in device.agentm("store", "show", code=1).stderr


def test_events_tell_what_others_changed(device, selected):
    selected()
    device.agentm("policy", "init")
    assert device.agentm("event", "turn-start").stderr == ""
    (device.home / "notes" / "plan.md").write_text("by hand\n")
    assert "changed by others: plan.md (write)" in device.agentm("event", "turn-start").stderr
    assert device.agentm("event", "turn-start").stderr == ""


def test_events_pull_commit_and_push_by_the_policy(device, selected):
    site = device.home / "site"
    metadata = site / "acme_sync-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Name: acme-sync\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[agentm.providers]\nacme-sync = acme_sync:open_copy\n")
    (site / "acme_sync.py").write_text(SYNCING)
    device.environ["PYTHONPATH"] = str(site)
    place = device.home / "copy"
    sync = "sync: {mode: pull-push, commit: {on: per-turn}, push: {on: per-commit}}\nidentity: {ref: 'bot://ci'}\n"
    selected("acme-sync", f"place: {place}", sync)
    failed = device.agentm("event", "turn-end", stdin='{"summary": "a plan"}', code=1, BREAK="1")
    error, hint = failed.stderr.splitlines()
    assert error.startswith("error: the commit of ")
    assert error.endswith("the disk of the origin is full [storage_commit_failed]")
    assert hint == "hint: the notes are safe in the working copy; `agentm event manual` tries again"
    doctor = device.agentm("doctor").stdout
    assert "the disk of the origin is full [storage_commit_failed]" in doctor
    assert "reinstall" not in failed.stderr + doctor
    done = device.agentm("event", "turn-end", stdin='{"summary": "a plan"}')
    assert done.stderr == "committed r1; pushed r1\n"
    log = (device.home / "copy.log").read_text().splitlines()
    assert log == [
        "commit turn-end agentm: a plan ci <bot-ci@noreply.agentm.invalid>",
        "push storage-commit-completed",
    ]
    assert "the disk of the origin is full" not in device.agentm("doctor").stdout


def test_an_event_without_a_policy_is_nothing(device):
    done = device.agentm("event", "turn-end")
    assert (done.stdout, done.stderr) == ("", "")


def test_moving_away_from_a_policy_leaves_it_and_moving_to_one_keeps_its_rules(device, selected):
    path = selected("dev-local", f"root: {device.home}/dev")
    device.agentm("policy", "init")
    (device.home / "dev" / "note.md").write_text("x\n")
    device.agentm("migrate", "--to", "device-local", "--yes")
    assert device.agentm("config", "get", "storage.policy", code=1).stdout == ""
    assert (device.home / ".agentm" / "memory" / "note.md").read_text() == "x\n"
    path.write_text(path.read_text().replace("/dev}", "/other}").replace("---\n", "---\nread_only: true\n", 1))
    device.agentm("config", "set", "plugins.policy.path", str(path))
    assert "read-only" in device.agentm("migrate", "--to", "policy", "--yes", code=1).stderr
    assert not (device.home / "other").exists()
    path.write_text(path.read_text().replace("read_only: true", "read_only: false"))
    device.agentm("migrate", "--to", "policy", "--yes")
    assert (device.home / "other" / "note.md").read_text() == "x\n"


def test_the_wrapper_has_no_business_around_another_store(device):
    device.agentm("config", "set", "wrappers", '["policy"]')
    assert "another one" in device.agentm("store", "show", code=1).stderr

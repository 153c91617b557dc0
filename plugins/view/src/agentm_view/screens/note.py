"""One note: what it says, where it comes from, what it is connected with, and what can be done with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentm_kernel.plugin import AgentmError, NotFoundError
from agentm_view.diff import side_by_side
from agentm_view.html import Html, exact, join, tag
from agentm_view.screens import Screen, heading, section
from agentm_view.screens.pieces import note_list, pairs, panel_place, when

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agentm_view.screens import Asked


def note(given: Asked, key: str) -> Screen:
    """The note of that key. Agents are told keys without the ending, and links say the end of one: both will do."""
    if key not in given.listing.by_key:
        key = given.listing.find(key) or key
    try:
        found = given.memory.notes().read(key)
    except NotFoundError as error:
        hint = "it was moved or deleted: search for it, or look at its project"
        raise NotFoundError(f"there is no note '{key}'", hint=hint) from error
    known = given.listing.by_key.get(key, found)  # the list knows which notes others have replaced
    status = known["status"]
    replaced_by = given.listing.replaced_by.get(key, [])
    html = join(
        heading(
            found["title"],
            *(_actions(given, key, found, status) if given.may_write else ()),
            said=[
                found["kind"],
                " · ",
                found["project"] or "personal",
                *([" · ", when(found["changed"])] if found["changed"] else []),
            ],
        ),
        status != "active" and _past(given, status, replaced_by),
        found["problem"] and tag("p", f"Its front matter cannot be read: {found['problem']}", class_="failure"),
        tag(
            "div",
            tag("article", given.renderer.render(_without_title(found)), class_="prose", dir="auto"),
            tag("aside", _facts(given, found), aria_label="About this note"),
            class_="reading",
        ),
        _neighbours(given, found, replaced_by),
        tag("div", *_panels(given, key, found["hash"])),
    )
    return Screen(found["title"], html, {"key": key, "hash": found["hash"]})


def _without_title(found: Mapping[str, Any]) -> str:
    """The body, without the heading that the screen shows already."""
    body: str = found["body"].lstrip("\n")
    first, _, rest = body.partition("\n")
    return rest if first.startswith("# ") and first[2:].strip() == found["title"] else body


def _actions(given: Asked, key: str, found: Mapping[str, Any], status: str) -> list[Html]:
    forgets = status != "deleted"
    words = "Forget" if forgets else "Bring back"
    question = "Forget this note? Agents will not be told it any more. Its text stays, and you can bring it back."
    return [
        tag("a", "Edit", href=given.links.screen("edit", {"note": key}), class_="button", data_key="e"),
        tag("a", "Replace", href=given.links.screen("new", {"supersedes": key}), class_="button"),
        tag(
            "form",
            tag("input", type="hidden", name="key", value=key),
            tag("input", type="hidden", name="expect", value=found["hash"]),
            tag("input", type="hidden", name="status", value="deleted" if forgets else "active"),
            tag(
                "button",
                words,
                type="submit",
                class_="danger" if forgets else None,
                data_confirm=question if forgets else None,
            ),
            data_do="status",
        ),
    ]


def _past(given: Asked, status: str, replaced_by: list[dict[str, Any]]) -> Html:
    links = [tag("a", one["title"], href=given.links.note(one["key"])) for one in replaced_by]
    words = {
        "deleted": "This note is forgotten: agents are not told it. Its text is kept.",
        "superseded": "This note was replaced: agents are told the newer one.",
    }.get(status, f"The status of this note is “{status}”.")
    return tag("p", words, links and Html(" "), *links, class_="notice")


_MOMENTS = ("verified", "doubted")  # what agentm itself writes about a note, with the time


def _facts(given: Asked, found: Mapping[str, Any]) -> Html:
    project = found["project"]
    confidence = found["confidence"]
    return pairs(
        ("Kind", tag("span", found["kind"], class_="kind")),
        (
            "Project",
            tag("a", project, href=given.links.project(project)) if project else "personal, for every project",
        ),
        ("Tags", [tag("span", tag_, class_="tag") for tag_ in found["tags"]]),
        ("Changed", when(found["updated"])),
        ("Written", when(found["created"])),
        ("Source", found["source"]),
        ("Confidence", f"{confidence:.0%}" if confidence is not None else None),
        *(
            (name.replace("_", " ").capitalize(), when(value) if name in _MOMENTS else value)
            for name, value in found.get("more", ())
        ),
        ("File", tag("code", found["key"])),
    )


def _neighbours(given: Asked, found: Mapping[str, Any], replaced_by: list[dict[str, Any]]) -> Html:
    replaces = [given.listing.by_key[other] for name in found["supersedes"] if (other := given.listing.find(name))]
    return join(
        replaces and section("It replaces", note_list(given, replaces)),
        replaced_by and section("Replaced by", note_list(given, replaced_by)),
    )


def _panels(given: Asked, key: str, hash_: str) -> list[Html]:
    if not given.links.is_live:
        return []  # an export shows notes as they are now
    panels, _ = given.memory.panels()
    query = {"note": key, "hash": hash_}
    return [panel_place(given, panel, query) for panel in panels if panel.place == "note"]


# ------------------------------------------------------------------------------------------------ writing


def edit(given: Asked, key: str) -> Screen:
    """The whole text of a note, front matter included: what is saved is exactly what is written here."""
    found = given.memory.notes().read(key)
    html = join(
        heading(f"Edit {found['title']}"),
        editor(given, key, found["text"], found["hash"]),
    )
    return Screen(f"Edit {found['title']}", html, {"key": key, "hash": found["hash"], "editing": "yes"})


def editor(given: Asked, key: str, text: str, hash_: str, words: str = "Save") -> Html:
    return tag(
        "form",
        tag("input", type="hidden", name="key", value=key),
        tag("input", type="hidden", name="expect", value=hash_),
        tag(
            "label",
            tag("span", "Text", class_="unseen"),
            tag(
                "textarea",
                Html("\n" + exact(text)),
                name="text",
                rows="24",
                spellcheck="true",
                data_draft=key,
                dir="auto",
            ),
        ),
        tag(
            "div",
            tag("button", words, type="submit", class_="first"),
            tag("a", "Cancel", href=given.links.note(key), class_="button", data_discard=key),
            tag(
                "span", "Ctrl+Enter saves. Nothing is written if somebody changes the note meanwhile.", class_="quiet"
            ),
            class_="actions",
        ),
        data_do="write",
        class_="editor",
    )


def changed_meanwhile(given: Asked, key: str, mine: str) -> Html:
    """Both texts, and a way on that loses neither. The new condition is what the store has now."""
    try:
        now = given.memory.notes().read(key)
    except NotFoundError:
        return join(
            tag(
                "p",
                "This note is gone: somebody deleted it while you wrote. What you wrote is below.",
                class_="notice",
                role="alert",
            ),
            editor(given, key, mine, "absent", "Save it again"),
        )
    if now["text"] == mine:
        return join(
            tag("p", "Somebody has written the very same text meanwhile. There is nothing to save.", class_="notice"),
            tag("p", tag("a", "Show the note", href=given.links.note(key), class_="button")),
        )
    return join(
        tag(
            "p",
            "This note was changed while you wrote. Nothing is lost: on the left is what the store has now, on the "
            "right what you wrote. Put together below what should stay, then save.",
            class_="notice",
            role="alert",
        ),
        side_by_side(now["text"], mine, "In the store now", "What you wrote"),
        tag("h2", "What should stay"),
        editor(given, key, mine, now["hash"], "Save this over what the store has"),
    )


def new(given: Asked) -> Screen:
    """A new note; perhaps in the place of another."""
    service = given.memory.notes()
    replaced = given.query.get("supersedes", "")
    old = service.read(replaced) if replaced else None
    project = old["project"] if old else given.query.get("project") or _project_here(given)
    projects = sorted(given.listing.projects())
    title = f"Replace {old['title']}" if old else "New note"
    fields = [
        _choice("kind", "Kind", [(kind, kind) for kind in service.kinds], old["kind"] if old else "decision"),
        _choice(
            "project", "Project", [("", "personal, for every project"), *((p, p) for p in projects)], project or ""
        ),
        _line("name", "Name", "A few words. They become the name of the file."),
        _line("tags", "Tags", "With commas between them; may be empty."),
    ]
    html = join(
        heading(title),
        old and tag("p", "The old note stays in the store, marked as replaced.", class_="quiet"),
        tag(
            "form",
            old and tag("input", type="hidden", name="supersedes", value=replaced),
            old and tag("input", type="hidden", name="expect", value=old["hash"]),
            tag("div", *fields, class_="fields"),
            tag(
                "label",
                tag("span", "Text"),
                tag(
                    "textarea",
                    Html("\n" + exact(old["body"].lstrip("\n") if old else "")),
                    name="body",
                    rows="16",
                    required=True,
                    spellcheck="true",
                    data_draft=f"new:{replaced}",
                    dir="auto",
                ),
            ),
            tag(
                "div",
                tag("button", "Save", type="submit", class_="first"),
                tag(
                    "a",
                    "Cancel",
                    href=given.links.note(replaced) if old else given.links.screen("notes"),
                    class_="button",
                    data_discard=f"new:{replaced}",
                ),
                class_="actions",
            ),
            data_do="save",
            class_="editor",
        ),
    )
    return Screen(title, html, {"editing": "yes"})


def _project_here(given: Asked) -> str | None:
    """The project in which the page was opened, if the store knows it."""
    try:
        slug = given.memory.device().memory(given.memory.cwd).slug
    except AgentmError:
        return None
    return slug if slug in given.listing.projects() else None


def _choice(name: str, label: str, options: list[tuple[str, str]], chosen: str) -> Html:
    shown = [tag("option", words, value=value, selected=value == chosen) for value, words in options]
    return tag("label", tag("span", label), tag("select", *shown, name=name))


def _line(name: str, label: str, said: str) -> Html:
    return tag(
        "label",
        tag("span", label),
        tag("input", type="text", name=name, required=name == "name", aria_describedby=f"about-{name}"),
        tag("small", said, id=f"about-{name}"),
    )

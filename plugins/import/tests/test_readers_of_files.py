"""What each source that keeps files says of its memories: every field of the item that comes of each."""

from __future__ import annotations

import json
import os

import pytest
from import_home import CHANGED, Home, detected, read_source, write_source

from agentm_import.items import Item, Skipped
from agentm_kernel.plugin import AgentmError


def test_a_memory_of_claude_code_keeps_what_its_file_says(home: Home) -> None:
    project = str(home.project)
    head = "---\nname: Tea\ndescription: What we drink\ntype: feedback\ntags: [a, '#b']\ncreated: 2026-07-01\n---\n"
    nested = (
        "---\ntitle: Port\nmetadata:\n  type: reference\n  originSessionId: s1\n  modified: 2026-07-02\n---\n80\n"
    )
    write_source(
        home.path / ".claude",
        {
            "CLAUDE.md": "Speak plainly.\n",
            "projects/-w/s.jsonl": f'{{"type": "x"}}\n{json.dumps({"cwd": project})}\n',
            "projects/-w/memory/tea.md": f"{head}We drink tea.\n",
            "projects/-w/memory/port.md": nested,
            "projects/-w/memory/me.md": "---\ndescription: Likes tests\ntype: user\n---\n",
            "projects/-w/memory/MEMORY.md": "# Index\n\n- [Tea](tea.md) — tea\nAn older remark.\n",
            "projects/-w/memory/picture.png": "",
            "projects/-x/memory/MEMORY.md": "# Index\n\n- [Tea](tea.md)\n",
            "agent-memory/reviewer/habits.md": "Looks at tests first.\n",
            "agent-memory/habits.md": "Of no agent.\n",
        },
    )
    under = "projects/-w/memory"
    assert read_source(home, "claude-code") == {
        "CLAUDE.md": Item(
            "CLAUDE.md",
            "Speak plainly.\n",
            title="CLAUDE.md of the user",
            kind="convention",
            slug="claude-md",
            updated=CHANGED,
        ),
        f"{under}/MEMORY.md": Item(
            f"{under}/MEMORY.md",
            "# Index\n\nAn older remark.\n",
            title="MEMORY.md",
            project=project,
            slug="claude-memory",
            updated=CHANGED,
        ),
        f"{under}/me.md": Item(
            f"{under}/me.md",
            "Likes tests",
            title="me",
            slug="me",
            tags=("user",),
            updated=CHANGED,
            extra={"description": "Likes tests"},
            line=5,
        ),
        f"{under}/picture.png": Skipped(
            f"{under}/picture.png", "not Markdown: an attachment, which stays where it is", is_problem=False
        ),
        f"{under}/port.md": Item(
            f"{under}/port.md",
            "80\n",
            title="Port",
            kind="reference",
            project=project,
            slug="port",
            tags=("reference",),
            updated="2026-07-02",
            extra={"session": "s1"},
            line=8,
        ),
        f"{under}/tea.md": Item(
            f"{under}/tea.md",
            "We drink tea.\n",
            title="Tea",
            kind="convention",
            project=project,
            slug="Tea",
            tags=("feedback", "a", "b"),
            created="2026-07-01",
            updated=CHANGED,
            extra={"description": "What we drink"},
            line=8,
        ),
        "projects/-x/memory/MEMORY.md": Skipped(
            "projects/-x/memory/MEMORY.md",
            "the index of the memories, which are imported themselves",
            is_problem=False,
        ),
        "agent-memory/habits.md": Item(
            "agent-memory/habits.md", "Of no agent.\n", title="habits", slug="habits", updated=CHANGED
        ),
        "agent-memory/reviewer/habits.md": Item(
            "agent-memory/reviewer/habits.md",
            "Looks at tests first.\n",
            title="habits",
            slug="habits",
            tags=("reviewer",),
            updated=CHANGED,
        ),
    }
    assert detected(home, "claude-code") == [(str(home.path / ".claude"), 3, "memories of 2 projects")]


def test_the_folder_of_one_project_s_memory_may_be_given_and_claude_code_may_live_elsewhere(home: Home) -> None:
    root = home.path / "elsewhere"
    write_source(root, {"projects/-w/memory/tea.md": "Tea.\n", "projects/-w/s.jsonl": '{"cwd": "/somewhere"}\n'})
    item = Item("tea.md", "Tea.\n", title="tea", project="/somewhere", slug="tea", updated=CHANGED)
    assert read_source(home, "claude-code", root / "projects/-w/memory") == {"tea.md": item}
    moved = read_source(home, "claude-code", CLAUDE_CONFIG_DIR=str(root))
    assert list(moved) == ["projects/-w/memory/tea.md"]
    assert detected(home, "claude-code", CLAUDE_CONFIG_DIR=str(root)) == [(str(root), 1, "memories of 1 project")]
    assert detected(home, "claude-code") == []


def test_what_a_project_tells_claude_code_and_its_subagents_remember_is_the_project_s(home: Home) -> None:
    project = str(home.project)
    write_source(
        home.project,
        {
            "CLAUDE.md": "Run make.\n",
            ".claude/CLAUDE.md": "Use tabs.\n",
            "AGENTS.md": "For every agent.\n",
            ".claude/rules/api/style.md": "---\npaths: ['src/**']\n---\nSnake case.\n",
            ".claude/rules/logo.png": "",
            ".claude/agent-memory/reviewer/habits.md": "---\ntags: [x]\n---\nTests first.\n",
            ".claude/agent-memory-local/reviewer/title.md": "---\ntitle: Days\n---\nOn Fridays.\n",
        },
    )
    (home.project / "CLAUDE.local.md").symlink_to("AGENTS.md")

    def instructions(name: str, text: str, slug: str) -> Item:
        return Item(
            f"{project}/{name}", text, title=name, kind="convention", project=project, slug=slug, updated=CHANGED
        )

    def remembered(name: str, text: str, title: str, slug: str, *tags: str) -> Item:
        return Item(
            f"{project}/.claude/{name}",
            text,
            title=title,
            project=project,
            slug=slug,
            tags=("reviewer", *tags),
            updated=CHANGED,
            line=4,
        )

    expected = [
        instructions("CLAUDE.md", "Run make.\n", "claude-md"),
        instructions(".claude/CLAUDE.md", "Use tabs.\n", "claude-md-folder"),
        instructions("CLAUDE.local.md", "For every agent.\n", "claude-local-md"),
        Skipped(
            f"{project}/.claude/rules/logo.png",
            "not Markdown: an attachment, which stays where it is",
            is_problem=False,
        ),
        Item(
            f"{project}/.claude/rules/api/style.md",
            "---\npaths: ['src/**']\n---\nSnake case.\n",
            title="Rule api/style",
            kind="convention",
            project=project,
            slug="claude-rule-api/style",
            updated=CHANGED,
        ),
        remembered("agent-memory/reviewer/habits.md", "Tests first.\n", "reviewer: habits", "reviewer-habits", "x"),
        remembered("agent-memory-local/reviewer/title.md", "On Fridays.\n", "Days", "reviewer-title"),
    ]
    assert list(read_source(home, "claude-code", home.project).values()) == expected
    write_source(home.path / ".claude", {"projects/-w/s.jsonl": f"{json.dumps({'cwd': project})}\n"})
    assert list(read_source(home, "claude-code").values()) == expected, "the transcripts of a session lead there"


def test_rules_that_are_a_link_to_another_folder_stay_there(home: Home) -> None:
    write_source(home.path / "outside", {"rule.md": "Not yours.\n"})
    (home.project / ".claude").mkdir()
    (home.project / ".claude" / "rules").symlink_to(home.path / "outside")
    assert read_source(home, "claude-code", home.project) == {}


def test_the_folder_of_claude_code_s_projects_is_told_by_the_newest_transcript_that_says_it(home: Home) -> None:
    folder = home.path / ".claude/projects/-w"
    write_source(folder, {"memory/tea.md": "Tea.\n", "old.jsonl": '{"cwd": "/old"}\n'})
    for name, text, age in (
        ("relative.jsonl", '{"cwd": "here"}\n', 10),
        ("new.jsonl", '{"cwd": 3}\n["cwd"]\nnot json "cwd"\n{"cwd": "/a\\u0007b"}\n{"cwd": "/new"}\n', 20),
        ("empty.jsonl", "\n", 5),
        ("other.txt", '{"cwd": "/other"}\n', 1),
    ):
        (folder / name).write_text(text)
        os.utime(folder / name, (1_785_600_000 - age, 1_785_600_000 - age))
    (folder / "link.jsonl").symlink_to(folder / "other.txt")
    (item,) = read_source(home, "claude-code").values()
    assert isinstance(item, Item)
    assert item.project == "/new"


@pytest.mark.parametrize("made", [True, False])
def test_without_a_transcript_the_mangled_name_is_a_folder_of_this_device_or_itself(made: bool, home: Home) -> None:
    place = home.path / "my.work" / "the-app-x"
    for other in ("the", "the.app"):
        (home.path / "my.work" / other).mkdir(parents=True)
    if made:
        place.mkdir(parents=True)
    mangled = "".join(letter if letter.isalnum() else "-" for letter in str(place))
    write_source(home.path / ".claude/projects", {f"{mangled}/memory/tea.md": "Tea.\n"})
    (item,) = read_source(home, "claude-code").values()
    assert isinstance(item, Item)
    assert item.project == (str(place) if made else mangled)


def test_a_folder_of_here_that_is_called_like_a_mangled_name_is_not_the_project(home: Home) -> None:
    write_source(home.project / "-zzz", {"CLAUDE.md": "Of another project.\n"})
    write_source(home.path / ".claude/projects", {"-zzz/memory/tea.md": "Tea.\n"})
    assert list(read_source(home, "claude-code")) == ["projects/-zzz/memory/tea.md"]


def test_a_memory_of_codex_keeps_its_group_its_session_and_its_time(home: Home) -> None:
    head = "thread_id: t1\nupdated_at: 2026-07-01T10:00:00Z\nrollout_path: /x\ncwd: /w\ngit_branch: main\n"
    group = "# Task Group: Build\napplies_to: cwd=/w ; reuse_rule=x\n\nUse make."
    write_source(
        home.path / ".codex",
        {
            "AGENTS.md": "Be brief.\n",
            "memories_v2/MEMORY.md": f"Before.\n\n{group}\n\n\n# Task Group: Build\nAgain.\n# Task Group:\nx\n",
            "memories_v2/memory_summary.md": "v1\n",
            "memories_v2/rollout_summaries/a.md": f"{head}\nFixed it.\n",
            "memories_v2/rollout_summaries/b.md": "No head.\n",
            "memories_v2/extensions/ad_hoc/notes/2026-07-02T11-12-13-port.md": "---\na: b\n---\nPort 80.\n",
            "memories_v2/extensions/ad_hoc/notes/lamp.md": "The lamp.\n",
            "memories_v2/skills/x/SKILL.md": "A program.\n",
            "memories_v2/other.md": "---\na: b\n---\nOther.\n",
        },
    )
    base, codex, summary = "memories_v2", ("codex",), ("codex", "session-summary")

    def reference(name: str, text: str, **fields: object) -> Item:
        return Item(f"{base}/{name}", text, **{"kind": "reference", "project": "", "updated": CHANGED, **fields})

    assert list(read_source(home, "codex").values()) == [
        Item(
            "AGENTS.md",
            "Be brief.\n",
            title="AGENTS.md of the user",
            kind="convention",
            slug="codex-agents-md",
            updated=CHANGED,
        ),
        reference("MEMORY.md#", "Before.", title="Codex memory"),
        reference("MEMORY.md#Build", f"{group}\n", title="Build", project="/w", tags=codex, line=3),
        reference("MEMORY.md#Build~2", "# Task Group: Build\nAgain.\n", title="Build", tags=codex, line=9),
        reference("MEMORY.md#~1", "# Task Group:\nx\n", title="Codex task group", tags=codex, line=11),
        Skipped(f"{base}/memory_summary.md", "derived: a summary of MEMORY.md", is_problem=False),
        reference("other.md", "Other.\n", tags=codex, line=4),
        Item(
            f"{base}/extensions/ad_hoc/notes/2026-07-02T11-12-13-port.md",
            "Port 80.\n",
            project="",
            slug="port",
            tags=codex,
            created="2026-07-02T11:12:13+00:00",
            line=4,
        ),
        Item(f"{base}/extensions/ad_hoc/notes/lamp.md", "The lamp.\n", project="", slug="lamp", tags=codex),
        reference(
            "rollout_summaries/a.md",
            "Fixed it.\n",
            project="/w",
            slug="codex-a",
            tags=summary,
            updated="2026-07-01T10:00:00Z",
            extra={"thread": "t1", "git_branch": "main"},
            line=6,
        ),
        reference("rollout_summaries/b.md", "No head.\n", slug="codex-b", tags=summary),
        Skipped(f"{base}/skills/x/SKILL.md", "a skill, which is a program for Codex and no memory", is_problem=False),
    ]
    assert detected(home, "codex") == [(str(home.path / ".codex"), 8, "memories and summaries of sessions")]
    given = read_source(home, "codex", home.path / ".codex/memories_v2")
    assert "rollout_summaries/a.md" in given
    moved = read_source(home, "codex", CODEX_HOME=str(home.path / ".codex"))
    assert len(moved) == 12


def test_every_memory_that_gemini_added_is_one_and_what_the_user_wrote_another(home: Home) -> None:
    project = str(home.project)
    added = "## Gemini Added Memories\n- Likes tea.\n\n- Likes tests.\n## More\n\nThe end.\n"
    write_source(
        home.path / ".gemini",
        {
            "GEMINI.md": f"# Mine\n\nBe brief.\n\n{added}",
            "projects.json": json.dumps({"projects": {project: "widgets", "relative": "b", "/x": 3, "/a\ab": "c"}}),
            "tmp/widgets/memory/MEMORY.md": "It builds with make.\n",
            "tmp/widgets/memory/port.md": "---\ntags: [net]\n---\nPort 80.\n",
            "tmp/widgets/memory/named.md": "---\ntitle: Lamp\n---\nOn.\n",
            "tmp/widgets/memory/skills/x.md": "A program.\n",
            "tmp/widgets/memory/.inbox/private/p.md": "?\n",
            "tmp/unknown/memory/tea.md": "Tea.\n",
            "tmp/nothing/x.md": "No memory.\n",
        },
    )
    write_source(home.project, {"GEMINI.md": "Use tabs.\n"})
    (home.path / ".gemini/tmp/linked").mkdir()
    (home.path / ".gemini/tmp/linked/memory").symlink_to(home.path / ".gemini/tmp/widgets/memory")

    def instructions(origin: str, text: str, slug: str, project: str | None, title: str = "GEMINI.md") -> Item:
        return Item(origin, text, title=title, kind="convention", project=project, slug=slug, updated=CHANGED)

    def of_widgets(name: str, text: str, **fields: object) -> Item:
        return Item(f"tmp/widgets/memory/{name}.md", text, **{"project": project, "updated": CHANGED, **fields})

    tags = ("gemini",)
    assert list(read_source(home, "gemini").values()) == [
        instructions("GEMINI.md", "# Mine\n\nBe brief.\n\n", "gemini-md", None),
        Item("GEMINI.md#Likes tea.", "Likes tea.", tags=tags, updated=CHANGED, line=6),
        Item("GEMINI.md#Likes tests.", "Likes tests.", tags=tags, updated=CHANGED, line=8),
        instructions("GEMINI.md#after", "## More\n\nThe end.", "gemini-md-more", None, title=""),
        Item("tmp/unknown/memory/tea.md", "Tea.\n", title="tea", project="unknown", slug="tea", updated=CHANGED),
        of_widgets("MEMORY", "It builds with make.\n", slug="gemini-memory"),
        of_widgets("named", "On.\n", title="Lamp", slug="named", line=4),
        of_widgets("port", "Port 80.\n", title="port", slug="port", tags=("net",), line=4),
        Skipped(
            "tmp/widgets/memory/skills/x.md",
            "a skill, which is a program for Gemini and no memory",
            is_problem=False,
        ),
        Skipped(
            "tmp/widgets/memory/.inbox/private/p.md", "a proposal that nobody has accepted yet", is_problem=False
        ),
        instructions(f"{project}/GEMINI.md", "Use tabs.\n", "gemini-md", project),
    ]
    assert detected(home, "gemini") == [(str(home.path / ".gemini"), 7, "memories of the user and of projects")]
    moved = {"GEMINI_CLI_HOME": str(home.path)}
    home.environ["HOME"] = str(home.path / "widgets")
    assert len(read_source(home, "gemini", **moved)) == 11
    assert detected(home, "gemini") == []


def test_instructions_for_gemini_without_a_list_count_as_one(home: Home) -> None:
    write_source(home.path / ".gemini", {"GEMINI.md": "Be brief.\n"})
    assert [count for _, count, _ in detected(home, "gemini")] == [1]
    write_source(home.path / ".gemini", {"GEMINI.md": "\n"})
    assert detected(home, "gemini") == []
    assert read_source(home, "gemini") == {}


HEAD = "---\nkind: Known_Issue\ntags: a, b\nupdated: 2026-07-01\n---\n"


def file(name: str, text: str, kind: str = "reference", **fields: object) -> Item:
    """A file that stays as it is, of a source that knows no projects."""
    given = {"origin": name, "project": "", "updated": CHANGED, "verbatim": True, "path": name, **fields}
    return Item(body=text, kind=kind, **given)


def test_files_of_markdown_keep_every_byte_and_their_paths(home: Home) -> None:
    root = write_source(
        home.path / "docs",
        {
            "a/issue.md": f"{HEAD}It fails.\n",
            "a/typed.MD": "---\ntype: decision\nmodified: 2026-07-02\n---\nWe do.\n",
            "long.markdown": "Long.\n",
            "list.md": "---\n- no mapping\n---\nText.\n",
            "picture.png": "",
            ".hidden/x.md": "Not looked at.\n",
        },
    )
    attachment = "not Markdown: an attachment, which stays where it is"
    assert list(read_source(home, "markdown", root).values()) == [
        file("list.md", "---\n- no mapping\n---\nText.\n"),
        file("long.markdown", "Long.\n", path="long.md"),
        Skipped("picture.png", attachment, is_problem=False),
        file("a/issue.md", f"{HEAD}It fails.\n", "known-issue", tags=("a", "b"), updated="2026-07-01"),
        file(
            "a/typed.MD",
            "---\ntype: decision\nmodified: 2026-07-02\n---\nWe do.\n",
            "decision",
            updated="2026-07-02",
            path="a/typed.md",
        ),
    ]
    one = read_source(home, "markdown", root / "a/issue.md")
    assert one == {
        "issue.md": file("issue.md", f"{HEAD}It fails.\n", "known-issue", tags=("a", "b"), updated="2026-07-01")
    }
    (root / "broken.md").write_bytes(b"\xff")
    assert read_source(home, "markdown", root / "broken.md") == {
        "broken.md": Skipped("broken.md", "not UTF-8 (line 1)")
    }


def test_a_vault_is_found_by_obsidian_s_own_list(home: Home) -> None:
    vault = write_source(home.path / "Vault", {"tea.md": "Tea.\n", ".obsidian/app.json": "{}"})
    other = write_source(home.path / "Other", {"no.md": "No vault.\n"})
    empty = write_source(home.path / "Empty", {".obsidian/app.json": "{}"})
    places = [
        {"path": str(vault)},
        {"path": str(other)},
        {"path": str(empty)},
        {"path": "relative"},
        "x",
        {"path": 3},
    ]
    listed = json.dumps({"vaults": dict(enumerate(places))})
    write_source(home.path, {".config/obsidian/obsidian.json": listed})
    assert detected(home, "obsidian") == [(str(vault), 1, "notes")]
    assert read_source(home, "obsidian") == {"tea.md": file("tea.md", "Tea.\n")}
    with pytest.raises(AgentmError, match="it is no Obsidian vault"):
        read_source(home, "obsidian", other)


def test_the_projects_of_basic_memory_are_those_of_its_configuration(home: Home) -> None:
    work = write_source(home.path / "work", {"port.md": "---\npermalink: w/port\n---\nPort 80.\n", "x.png": ""})
    main = write_source(home.path / "basic-memory", {"tea.md": "---\npermalink: tea\naliases: [t]\n---\nTea.\n"})
    assert detected(home, "basic-memory") == [(str(main), 1, "notes of the project 'main'")]
    projects = {"main": str(main), "work": {"path": str(work)}, "gone": "/nowhere", "odd": 3}
    write_source(home.path / ".basic-memory", {"config.json": json.dumps({"projects": projects})})
    assert list(read_source(home, "basic-memory").values()) == [
        file("tea.md", "---\npermalink: tea\naliases: [t]\n---\nTea.\n", origin="main/tea.md"),
        file(
            "port.md",
            "---\npermalink: w/port\n---\nPort 80.\n",
            origin="work/port.md",
            project="work",
            extra={"aliases": ("w/port",)},
        ),
        Skipped("x.png", "not Markdown: an attachment, which stays where it is", is_problem=False),
    ]
    assert detected(home, "basic-memory") == [
        (str(main), 1, "notes of the project 'main'"),
        (str(work), 1, "notes of the project 'work'"),
    ]
    assert list(read_source(home, "basic-memory", main)) == ["tea.md"]
    elsewhere = {"BASIC_MEMORY_CONFIG_DIR": str(home.path / "none")}
    assert list(read_source(home, "basic-memory", **elsewhere)) == ["main/tea.md"]


def test_a_bundle_of_okf_says_when_a_concept_was_made_and_whether_it_still_holds(home: Home) -> None:
    made = "---\ntype: Decision\ngenerated: {by: x, at: 2026-07-01T00:00:00Z}\n---\nMade.\n"
    gone = "---\ntype: x\nstatus: deprecated\ntimestamp: 2026-07-02\n---\nGone.\n"
    root = write_source(
        home.path / "bundle",
        {
            "index.md": "* [x](x.md)\n",
            "made.md": made,
            "gone.md": gone,
            "plain.md": "---\ntype: x\n---\nPlain.\n",
            "picture.png": "",
            "projects/w/_project.json": "{}",
            ".git/x.md": "Not looked at.\n",
            ".hidden/x.md": "---\ntype: x\n---\nHidden.\n",
        },
    )
    assert read_source(home, "okf", root) == {
        "gone.md": file("gone.md", gone, updated="2026-07-02", status="superseded"),
        "index.md": Skipped("index.md", "OKF's own list, made of the notes", is_problem=False),
        "made.md": file("made.md", made, "decision", updated="2026-07-01T00:00:00Z"),
        "picture.png": Skipped(
            "picture.png", "not Markdown: an attachment, which stays where it is", is_problem=False
        ),
        "plain.md": file("plain.md", "---\ntype: x\n---\nPlain.\n"),
        ".hidden/x.md": file(".hidden/x.md", "---\ntype: x\n---\nHidden.\n"),
        "projects/w/_project.json": Item("projects/w/_project.json", "{}", key="projects/w/_project.json"),
    }


def test_the_graph_of_the_memory_server_is_a_note_for_each_thing(home: Home) -> None:
    lines = [
        {"type": "entity", "name": "Ana", "entityType": "preference", "observations": ["Likes\ntea", 3]},
        {"type": "relation", "from": "Ana", "to": "Bo", "relationType": "knows"},
        {"type": "entity", "name": "Empty"},
        {"type": "relation", "from": "Zoe", "to": "Bo"},
        {"type": "entity"},
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n\n" for line in lines)
    packed = "_npx/1/node_modules/@modelcontextprotocol/server-memory/dist"
    write_source(home.path / ".npm", {f"{packed}/memory.jsonl": text})
    place = home.path / ".npm" / packed / "memory.jsonl"
    expected = {
        "line 9": Skipped("line 9", "neither an entity nor a relation"),
        "entity Ana": Item(
            "entity Ana",
            "- Likes tea\n- 3\n- knows [[Bo]]",
            title="Ana",
            kind="convention",
            project="",
            tags=("preference",),
            updated=CHANGED,
            extra={"aliases": ("Ana",)},
        ),
        "entity Empty": Item(
            "entity Empty", "Empty", title="Empty", project="", updated=CHANGED, extra={"aliases": ("Empty",)}
        ),
        "relations of Zoe": Item(
            "relations of Zoe",
            "- relates to [[Bo]]",
            title="Zoe",
            project="",
            updated=CHANGED,
            tags=("relations",),
        ),
    }
    assert read_source(home, "server-memory") == expected
    assert read_source(home, "server-memory", place.parent) == expected
    assert detected(home, "server-memory") == [(str(place), 3, "entities")]
    named = {"MEMORY_FILE_PATH": str(home.path / "none.jsonl")}
    assert detected(home, "server-memory", **named) == []
    with pytest.raises(AgentmError, match="No such file"):
        read_source(home, "server-memory", **named)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("basic-memory", "there is no such folder"),
        ("claude-code", "there is no such folder"),
        ("codex", "there is no such folder"),
        ("gemini", "there is no such folder"),
        ("markdown", "there is no such folder"),
        ("mempalace", "there is no palace"),
        ("obsidian", "it is no Obsidian vault"),
        ("okf", "there is no such folder"),
        ("server-memory", "no file was found"),
        ("claude-mem", "there is no such file"),
        ("engram", "there is no such file"),
        ("mem0", "there is no such file"),
    ],
)
def test_a_source_that_is_not_there_is_refused_and_not_found(source: str, why: str, home: Home) -> None:
    assert detected(home, source) == []
    with pytest.raises(AgentmError, match=why) as refused:
        read_source(home, source)
    assert refused.value.hint

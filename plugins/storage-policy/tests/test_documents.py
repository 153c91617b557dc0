"""Documents of our own for every rule: `RULE-accepted-…`, `RULE-refused-…`; what is expected is in their prose."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentm_storage_policy.errors import CODES, StoragePolicyError
from agentm_storage_policy.handle import load_storage
from agentm_storage_policy.parse import STORAGE_KINDS, examine_bytes

FOLDER = Path(__file__).with_name("documents")
FILES = sorted(FOLDER.glob("*.md"))
RULES = range(1, 51)
SECRETS = re.compile(
    r"kept-by-nobody|correct-horse|ghp_|glpat-|hunter22|b3BlbnNz|aB3aB3|not-even-a-real|etc/passwd|/etc/shadow"
)


def expected(file: Path) -> list[str]:
    return file.read_text().rpartition("---\n")[2].split("\n")[1:-1]


def described(file: Path) -> list[str]:
    """What the parser says, in the words of the documents: the first error and all warnings."""
    parsed, findings = examine_bytes(file.read_bytes(), file.name, providers=())
    errors = [finding for finding in findings if finding.is_error]
    assert (parsed is None) == bool(errors)
    lines = ["accepted"] if parsed else [f"refused {errors[0].code} at {_place(errors[0])}"]
    return lines + [f"warning at {_place(finding)}" for finding in findings if not finding.is_error]


def _place(finding) -> str:
    return f"{finding.line}:{finding.column} {finding.key}".rstrip()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_document_is_accepted_or_refused_as_it_says_of_itself(file):
    assert file.stem.split("-")[1] == expected(file)[0].split()[0]
    assert described(file) == expected(file)


@pytest.mark.parametrize("file", [file for file in FILES if "-refused-" in file.name], ids=lambda file: file.stem)
def test_a_refusal_names_file_line_column_and_code_and_repeats_no_value(file):
    _, findings = examine_bytes(file.read_bytes(), file.name, providers=())
    for finding in findings:
        said = f"{finding} {finding.hint}"
        assert said.startswith(f"{file.name}:{finding.line}:{finding.column}: ")
        assert "\n" not in said
        assert not SECRETS.search(said)
        if finding.is_error:
            assert finding.code in CODES


@pytest.mark.parametrize("metadata", ["{note: %s}", "{notes: [%s]}", "{notes: [{note: %s}]}", "{notes: [[%s]]}"])
def test_a_credential_in_a_text_is_one_finding_wherever_it_stands(metadata):
    document = (FOLDER / "02-refused-token-in-a-value.md").read_text()
    written = re.search(r"note: (use .* here)", document)
    text = f"---\nprovider: dev-local\nconfig: {{root: /srv/dev}}\nmetadata: {metadata % written[1]}\n---\n"
    _, findings = examine_bytes(text.encode(), "STORAGE.md", providers=())
    assert [finding.line for finding in findings] == [4]


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if "-refused-" in file.name and not file.name.startswith(("3", "45-refused-no-such"))],
    ids=lambda file: file.stem,
)
def test_loading_a_refused_document_raises_the_type_of_its_code(file):
    if expected(file)[0].split()[1] not in CODES:
        pytest.skip("not a document that leads to storage")
    with pytest.raises(StoragePolicyError) as caught:
        load_storage(file, providers=())
    assert isinstance(caught.value, CODES[caught.value.code])
    assert caught.value.findings
    assert caught.value.hint
    assert not SECRETS.search(f"{caught.value} {caught.value.hint}")


def test_there_are_documents_or_tests_on_both_sides_of_every_rule():
    covered = {(int(file.name[:2]), file.name.split("-")[1]) for file in FILES}
    for file in Path(__file__).parent.glob("test_*.py"):
        covered |= set(_marked(ast.parse(file.read_text())))
    missing = [(rule, side) for rule in RULES for side in ("accepted", "refused") if (rule, side) not in covered]
    assert missing == []


def _marked(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.rule":
            number, side = (argument.value for argument in node.args)
            yield number, side


# Everything is loaded by a first document, so that what happens afterwards is parsing and nothing else.
PARSE_UNDER_GUARD = """
import sys
from agentm_storage_policy.handle import define_storage, load_storage
from agentm_storage_policy.parse import examine_bytes
first, *files = sys.argv[1:]
for _ in range(2):
    for file in sys.argv[1:]:
        with open(file, "rb") as document:
            data = document.read()
        examine_bytes(data, file, providers=())
load_storage(first, providers=())
allowed = None
FORBIDDEN = ("open", "socket", "subprocess", "os.listdir", "os.scandir", "os.system", "import", "urllib", "os.mkdir")

def guard(event, arguments):
    if allowed is not None and event.startswith(FORBIDDEN) and arguments[0] != allowed:
        raise PermissionError(f"{event} {arguments[0]!r} while parsing")

sys.addaudithook(guard)
for file in files:
    allowed = file
    try:
        load_storage(file, providers=())
    except Exception as error:
        assert type(error).__module__.startswith("agentm"), repr(error)
allowed = ""
define_storage({"provider": "local-fs", "config": {"mount_path": "/nowhere"}, "auth": {"ref": "./S.md"}}, root="/")
allowed = None
modules = [name for name in sys.modules if name.startswith(("agentm_device_local", "agentm_bucket", "agentm_git"))]
assert modules == [], modules
try:
    allowed = ""
    open("/etc/hostname")
except PermissionError:
    print("guarded")
"""


@pytest.mark.rule(6, "accepted")
@pytest.mark.rule(6, "refused")
def test_parsing_opens_nothing_but_the_document_and_imports_no_provider(tmp_path):
    files = [shutil.copy(file, tmp_path / file.name) for file in [FOLDER / "17-accepted-standalone.md", *FILES]]
    done = subprocess.run(
        [sys.executable, "-c", PARSE_UNDER_GUARD, *map(str, files)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("guarded\n", "")


def test_a_kind_that_leads_to_no_store_is_refused_by_name():
    for name, words in (("33-accepted-access.md", "SECRETS.md"), ("45-accepted-deny-by-default.md", "POLICY.md")):
        with pytest.raises(StoragePolicyError, match=words):
            load_storage(FOLDER / name, providers=())
    kinds = {examine_bytes(file.read_bytes(), file.name)[0].kind for file in FILES if "-accepted-" in file.name}
    assert kinds == {*STORAGE_KINDS, "policy", "secrets"}

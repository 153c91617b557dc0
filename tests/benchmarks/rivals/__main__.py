"""`python -m tests.benchmarks.rivals STORE WORK`: one cell of the table, with what was seen in it.

The program runs in a mount namespace of its own where it may, for the disk that is filled.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.rivals.contestants import CONTESTANTS, Site, Unavailable
from tests.benchmarks.rivals.works import WORKS, NotApplicable, perform


def main() -> None:
    names = {contestant.name.replace(", ", "-").replace(" ", "-").lower(): contestant for contestant in CONTESTANTS}
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.rivals", description=__doc__)
    parser.add_argument("store", choices=names)
    parser.add_argument("work", choices=WORKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scratch", type=Path, default=Path(".cache"))
    options = parser.parse_args()
    if options.work == "full-disk" and "RIVALS_OWN_MOUNTS" not in os.environ:
        _again_with_own_mounts()
    options.scratch.mkdir(exist_ok=True)
    contestant = names[options.store]
    folder = Path(tempfile.mkdtemp(prefix="rivals-", dir=options.scratch)).resolve()
    fields: dict[str, object] = {}
    try:
        with ExitStack() as stack:
            fields["version"] = contestant.version()
            site = Site(folder, stack)
            verdict = perform(contestant, options.work, site, quick=options.quick, seed=options.seed)
            fields |= verdict.fields()
    except NotApplicable as reason:
        fields |= {"words": "–", "said": str(reason), "silent": 0}
    except Unavailable as reason:
        fields |= {"words": "not installed", "said": str(reason), "silent": 0}
    finally:
        subprocess.run(["umount", str(folder)], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    if options.json:
        print(json.dumps(fields))
        return
    print(f"{contestant.name} {fields.get('version', '')}: {fields['words']}")
    print((WORKS[options.work].__doc__ or "").strip())
    for name, value in fields.items():
        if name not in ("version", "words") and value:
            print(f"  {name}: {value}")


def _again_with_own_mounts() -> None:
    unshare = shutil.which("unshare")
    if unshare is None:
        return
    flags = ["-m"] if os.geteuid() == 0 else ["-Urm"]
    again = [unshare, *flags, sys.executable, "-m", "tests.benchmarks.rivals", *sys.argv[1:]]
    sys.exit(subprocess.run(again, check=False, env={**os.environ, "RIVALS_OWN_MOUNTS": "1"}).returncode)


if __name__ == "__main__":
    main()

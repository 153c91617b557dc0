"""A computer of somebody who uses a bucket: a home, a checkout of one project, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bucket_servers import BUCKET

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bucket_servers import Server

AGENTM = os.path.join(os.path.dirname(sys.executable), "agentm")


class Laptop:
    """`wrapper` is put before every command, to run it in a namespace, say."""

    def __init__(self, folder: Path, environ: Mapping[str, str], wrapper: Sequence[str] = ()) -> None:
        self.home = folder / "home"
        self.checkout = folder / "widgets"
        self.checkout.mkdir(parents=True)
        self.home.mkdir()
        (self.checkout / ".git").mkdir()
        (self.checkout / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        (self.checkout / ".git" / "config").write_text(
            '[remote "origin"]\n\turl = https://example.com/o/widgets.git\n'
        )
        # The machine that runs the tests may be busy, and a cut link takes its time to be noticed.
        self.environ = {"HOME": str(self.home), "PATH": os.environ["PATH"], "AGENTM_PATIENCE": "30", **environ}
        self.wrapper = wrapper

    def run(
        self,
        *arguments: str,
        stdin: str = "",
        wrapper: Sequence[str] = (),
        ok: bool = True,
        environ: Mapping[str, str] | None = None,
        program: str = AGENTM,
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*self.wrapper, *wrapper, program, *arguments],
            cwd=self.checkout,
            env=environ or self.environ,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert not ok or done.returncode == 0, done.stderr
        return done

    def python(self, script: str) -> str:
        """What a program of this laptop prints."""
        return self.run("-c", script, program=sys.executable).stdout

    def session_start(self, **options: object) -> str:
        host = json.dumps({"cwd": str(self.checkout)})
        return self.run("hook", "session-start", stdin=host, **options).stdout  # type: ignore[arg-type]

    def write_plan(self, text: str, **options: object) -> subprocess.CompletedProcess[str]:
        return self.run("state", "write", "PLAN.md", "--body-file", "-", stdin=text, **options)  # type: ignore[arg-type]

    def join(self, server: Server, prefix: str, endpoint: str | None = None) -> Laptop:
        """Make or join the store below `prefix`, and use it."""
        if server.kind != "s3":
            raise ValueError("only S3 needs no more options than these")
        where = ("--prefix", prefix, "--endpoint", endpoint or server.endpoint)
        self.run("bucket", "init", BUCKET, *where, "--use")
        return self

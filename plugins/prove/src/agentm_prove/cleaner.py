"""`python -m agentm_prove.cleaner FOLDER`: wait until whoever started this is gone, then remove the folder."""

from __future__ import annotations

import shutil
import sys
import time

_ATTEMPTS = 20


def main(folder: str) -> None:
    sys.stdin.buffer.read()  # ends when the other end of the pipe is closed, by its owner or by its owner's death
    for _ in range(_ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)  # workers that die with their parent may have written something in between
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except OSError:
            continue


if __name__ == "__main__":
    main(sys.argv[1])

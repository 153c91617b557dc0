"""`plain_files.py FILE`: a note as an agent's file tools keep it: read the file, change the text, write it."""

from __future__ import annotations

import sys

from desk import serve

path = sys.argv[1]


def read() -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def add(line: str) -> None:
    text = read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{text}{line}\n")


serve(add=add, read=read)

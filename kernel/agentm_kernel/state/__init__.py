"""Harness state: where a project's plan and progress live, and reading and writing them there."""

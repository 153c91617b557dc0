"""Imported between the kernel and a backend: `-X importtime` then shows where the backend begins."""

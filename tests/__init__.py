"""What spans distributions; the packages in here are run with `python -m`."""

"""The configuration: where it lies, how it is read on every hook, and the one writer that changes it."""

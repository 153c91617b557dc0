"""The commands `setup`, `connect`, `disconnect`, `hosts` and `log`."""

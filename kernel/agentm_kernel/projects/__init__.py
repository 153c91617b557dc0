"""Projects: which one a working directory belongs to, what it is called, and whose name that is in a store."""

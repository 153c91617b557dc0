"""The index of a store's notes: derived, on this device only, safe to delete at any time."""

"""The write floor: confined directories, the store mutex, atomic replacement, and `FileStore` over the three."""

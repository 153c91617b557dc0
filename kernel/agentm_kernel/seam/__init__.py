"""The storage seam: what a backend implements and what the engine may hold. No file-system path crosses it."""

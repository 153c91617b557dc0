"""From bytes to plain values with positions: front matter, YAML 1.2, and no plaintext credentials."""

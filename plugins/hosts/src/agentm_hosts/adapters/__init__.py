"""One module for each agent host."""

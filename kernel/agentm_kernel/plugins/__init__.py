"""The plugin host: what is installed, what may be loaded, and how a plugin that fails takes nothing else with it."""

"""Within agentm: a whole store to another backend, a project to another name."""

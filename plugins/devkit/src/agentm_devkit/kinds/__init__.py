"""What `agentm plugins check` looks at in plugins that are no stores: one module for each kind."""

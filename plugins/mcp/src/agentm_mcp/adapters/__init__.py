"""agentm as the memory of agent frameworks: an adapter each, an extra each, imported by whoever uses it.

`pip install agentm-mcp[anthropic]` brings what `agentm_mcp.adapters.anthropic_memory` needs, and so on. Every adapter
takes a store; without one it is the store of this device. What they write is conditional wherever the framework's own
interface leaves room for it: a note that somebody else changed is never overwritten unseen.
"""

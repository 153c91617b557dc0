"""The memory tools in the hands of real agent hosts, with a scripted model in place of a real one."""

"""`agentm hosts check`: an installed program in a scratch home, against a model stub on loopback."""

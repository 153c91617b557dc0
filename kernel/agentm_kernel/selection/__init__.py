"""Which store this device uses: the choice, its identity, and the refusal when it cannot be had."""

"""Planted secrets, assembled when the tests run so that none is in the tree. The kernel's tests have every kind."""

from __future__ import annotations


def planted() -> dict[str, str]:
    """One line with a secret for a few kinds, by the kind's name. None of them was ever valid."""
    return {
        "GitHub token": "remote uses " + "gh" + "p_" + "Q7w2Zk9" * 5 + "x",
        "Stripe key": "sk" + "_live_" + "4Kd8Wm2Xq7" * 2 + "z1",
        "quoted password": "db_pass" + 'word = "' + "tr0ub4dor" + '"',
    }

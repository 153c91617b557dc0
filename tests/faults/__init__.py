"""The fault campaign: each module breaks something on purpose, many times, and counts what the store lost.

Run it with `python -m tests.faults`. Every campaign has a negative control, a store built wrongly in exactly the way
that the campaign is there to notice: a campaign whose control passes proves nothing, and fails.
"""

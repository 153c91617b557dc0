"""What stands in for the fixtures of other people's suites, one pytest plugin each (`-p suites.<name>`)."""

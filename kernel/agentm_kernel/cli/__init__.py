"""The command line: `main` decides, `command_table` answers hooks without click, `app` is everything else."""

"""The command line: `main` decides, `fast_commands` answers hooks without click, `app` is everything else."""

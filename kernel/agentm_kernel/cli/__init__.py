"""The command line: `main` decides, `hot` answers hooks without click, `app` is everything else."""

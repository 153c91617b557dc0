"""Other programs' settings files: edited so that every byte that is not ours stays, and put back."""

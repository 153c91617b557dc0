"""Notes and questions for measuring recall: written for this project, frozen before the ranking was tuned."""

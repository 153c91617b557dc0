"""What is valid, as pydantic models. They are imported when a document is parsed, and by nothing else."""

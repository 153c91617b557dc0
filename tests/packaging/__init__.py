"""What is released: wheels, built once and tested in clean environments with the source out of reach."""

"""The build of the static site. Runs in the virtual environment."""

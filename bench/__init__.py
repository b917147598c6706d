"""Each claim about speed, as a command; peers beside us in the same run."""

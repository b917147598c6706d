"""What the benchmarks of the boot have in common: their pages, and visits of a profile."""

"""The families of curves, one file each."""

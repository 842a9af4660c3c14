"""What runs inside bubblewrap: standard library only, and nothing of the rest of this package."""

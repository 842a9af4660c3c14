"""Every choice of one run: where it is documented, checked, read from TOML and written back."""

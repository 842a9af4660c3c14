"""`python -m scalerl` is the command line."""

from scalerl.cli import main

if __name__ == "__main__":
    main()

"""``python -m selectq`` is ``selectq``."""

from selectq.cli import main

if __name__ == "__main__":
    main(prog_name="selectq")

"""``python -m logsig``."""

from logsig.cli import main

if __name__ == "__main__":
    main()

"""One module per command; each holds a ``command``. The file's name is the command's name."""

"""One thin module per command, named as the command."""

"""What drives policy through doors: each is handed its store, tmux server, clock and messages."""

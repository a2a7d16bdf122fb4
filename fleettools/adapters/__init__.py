"""One door per outside thing: standard streams, signals, clock, tmux, the store."""

"""What `fleetd demo` shows: an outage among small programs that draw an agent's screen, on a tmux server of its own."""

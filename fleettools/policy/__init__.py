"""Pure decisions: no clock, no file, no tmux; time is an argument and every decision returns its reason."""

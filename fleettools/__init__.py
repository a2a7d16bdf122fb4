"""fleettools: see which coding agents in tmux failed because of their backend, and act on the credential."""

__version__ = "0.1.0"

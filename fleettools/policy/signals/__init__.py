"""Signals: what an agent itself says of its turns and limits, by hook, log or status line."""

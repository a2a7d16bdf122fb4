"""Members: their turns, their tickets, their state in the roster, and which pane is whose seat."""

"""What draws the views for a terminal."""

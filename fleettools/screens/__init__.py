"""What one screen says: pure functions over text, with no clock, file or process."""

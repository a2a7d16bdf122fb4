"""fleetd: the pipe of all stages, kept up, and what becomes of the records that come out of it."""

"""What complete listings say over time: one SQLite file for each service."""

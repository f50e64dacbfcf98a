"""What complete listings say over time."""

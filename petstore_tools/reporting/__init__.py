"""From animals to a report."""

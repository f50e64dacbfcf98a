"""The inventory as pages and frames that say whether they are complete."""

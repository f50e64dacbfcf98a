"""Fixtures and the case table."""

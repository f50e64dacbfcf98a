"""Thin shells that act: requests, budget ledger, journal, spreadsheets, settings."""

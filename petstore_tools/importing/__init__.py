"""Spreadsheets to animals: preview, send, results."""

"""Spreadsheets in and out, cell by cell."""

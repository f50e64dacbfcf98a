"""
The Animal Store Service itself: the interface document over HTTP, on SQLite or
PostgreSQL.
"""

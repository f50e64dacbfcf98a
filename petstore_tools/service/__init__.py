"""The Animal Store Service itself: the whole document over HTTP, on SQLite."""

"""The version, in the one place that the package and its build read."""

__version__ = "1.0.0"

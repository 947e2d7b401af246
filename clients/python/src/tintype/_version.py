"""The version of this package, which is that of the service that it was written with."""

__version__ = "0.1.0"

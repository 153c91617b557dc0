"""A store of agentm in an object store: one memory on many machines, without a lost update."""

from agentm_bucket.backend import BucketBackend

__all__ = ["BucketBackend"]

__version__ = "0.2.0"

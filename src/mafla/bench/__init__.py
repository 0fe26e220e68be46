"""Measurements against peers: each module runs both sides in one process and returns rows."""

"""Choosing what a benchmark runs by parts of names."""

__all__ = ["is_chosen"]


def is_chosen(name: str, parts: str) -> bool:
    """Say whether the name has any of the parts, which are separated by ``|``; no parts choose all names.

    Example:
        >>> [is_chosen("maxcut: G14", parts) for parts in ("", "G14", "BA|maxcut: G", "g14")]
        [True, True, True, False]
    """
    return any(part in name for part in parts.split("|"))

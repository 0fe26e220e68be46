"""A griffe extension for mkdocs.yml: examples in docstrings are shown as code, not as Markdown's nested quotations."""

import re
from typing import Any

import griffe

BLOCK = re.compile(r"^([ \t]*)>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Put a fence around every block that starts with ``>>>`` and ends with a blank line."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Rewrite the docstring of an object that has been read."""
        del kwargs
        if obj.docstring is not None:
            obj.docstring.value = BLOCK.sub(r"\1```pycon\n\g<0>\n\1```", obj.docstring.value)

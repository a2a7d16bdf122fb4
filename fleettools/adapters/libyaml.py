"""PyYAML for its C parser, imported in a third of the time.

The modules of its own reader compile patterns as they are imported, which takes longer than all else in a short
command's start. The C parser uses none of them; so each is compiled when somebody asks it for something.
"""

import re
from typing import Any

_COMPILE = re.compile

__all__ = ["yaml"]


class _Later:
    """A pattern that is compiled when its first attribute is asked for."""

    def __init__(self, *asked: Any) -> None:
        self._asked = asked

    def __getattr__(self, name: str) -> Any:
        found = getattr(_COMPILE(*self._asked), name)
        setattr(self, name, found)
        return found


re.compile = _Later  # type: ignore[assignment]
try:
    import yaml
finally:
    re.compile = _COMPILE

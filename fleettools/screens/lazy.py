"""A property that is worked out once."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """As `functools.cached_property`, which takes a lock in Python 3.11: that costs more than a small property does."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, thing: Any, _: type | None = None) -> T:
        value: T = self._make(thing)
        thing.__dict__[self._name] = value
        return value

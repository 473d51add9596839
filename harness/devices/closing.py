"""What has to be closed, as a context manager."""

from __future__ import annotations

import abc
from typing import Self


class Closing(abc.ABC):
    """Base of classes with a ``close``: ``with`` closes them, whatever happens inside."""

    __slots__ = ()

    @abc.abstractmethod
    def close(self) -> None:
        """Give back what is held. Closing twice does no harm."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

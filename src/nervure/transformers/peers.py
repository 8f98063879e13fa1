"""The processes of a job, as one of them sees the others: its number among them, and texts that all of them hear.

>>> ALONE.index, ALONE.count, ALONE.together(lambda: b"done")
(0, 1, [b'done'])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nervure.errors import InvalidArgument


@dataclass(frozen=True)
class Peers:
    """Processes that call the same things in the same order: this one is number ``index`` of ``count``. ``gather``
    gives each what all of them have passed to it, in their order, once all have.
    """

    index: int
    count: int
    gather: Callable[[bytes], list[bytes]]

    def together(self, act: Callable[[], bytes]) -> list[bytes]:
        """Calls ``act`` in each process, and returns what it gave in all of them. If it raises in one, all raise."""
        error: BaseException | None = None
        try:
            own = b"+" + act()
        except BaseException as problem:  # whatever it is, the others must not wait for this process
            own, error = b"-" + f"{type(problem).__name__}: {problem}".encode(errors="replace"), problem
        told = self.gather(own)
        if error is not None:
            raise error
        for index, text in enumerate(told):
            if text.startswith(b"-"):
                raise InvalidArgument(f"process {index} of {self.count} has failed, and so this one stops, too",
                                      op="gather", operand=f"process {index}", got=text[1:].decode(errors="replace"),
                                      expected="all processes to succeed", help="look at what that process says")
        return [text[1:] for text in told]

    def by_first(self, act: Callable[[], object]) -> None:
        """Calls ``act`` in the first process; the others wait for it. If it raises, all raise.

        >>> ALONE.by_first(lambda: print("here"))
        here
        """
        def own() -> bytes:
            if self.index == 0:
                act()
            return b""
        self.together(own)


ALONE = Peers(0, 1, lambda text: [text])
"""A process without others."""

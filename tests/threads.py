"""Threads that run together: all have begun before one is waited for, and what fails in one fails the test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

SECONDS = 120
"""The time after which a thread hangs."""


def run_together(*acts: Callable[[], Any]) -> list[Any]:
    """What each function returns, on a thread of its own. The first exception of one is raised here."""
    results, errors = [None] * len(acts), list[BaseException]()

    def run(number: int) -> None:
        try:
            results[number] = acts[number]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    if errors:
        raise errors[0]
    assert not any([thread.is_alive() for thread in threads])
    return results

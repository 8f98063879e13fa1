"""Processes that share one computation, on one machine or many: which of how many this one is, and how they connect.

>>> from nervure import processes
>>> processes.join()  # a process that was started alone is the only one
>>> processes.index(), processes.count()
(0, 1)

``nervure launch -n 4 -- COMMAND`` starts several on one machine. Each finds three variables in its environment,
JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID, which any other launcher may set, too.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from typing import Any, NamedTuple, NoReturn

from nervure.errors import InvalidArgument, NervureError, NotSupported, ProcessLost
from nervure.support import forks

HEARTBEAT = 20
"""The seconds after which a process that gives no sign is taken for dead, where no launcher sees it die."""

LOST = 75
"""The exit status of a process that ends because another one has: the system's EX_TEMPFAIL."""

_CONNECTIONS = ("Gloo", "NCCL", "oordination service", "heartbeat")
"""The words of JAX's errors in which connections to other processes fail."""

COORDINATOR, TOTAL, OWN = "JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"
_PLACES = ((TOTAL, OWN), ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"))
_COUNTS = (TOTAL, "SLURM_NTASKS", _PLACES[1][0])
_LATER = 60  # seconds for which the thread that connects outlives the error of join


class PlaceInJob(NamedTuple):
    """The place of a process in its job, as the environment names it."""

    coordinator: str
    total: int
    own: int


_joined = False
_points, _ends = 0, False  # how often this process came to where the job may end, and whether it does


def join(timeout: float = 60) -> None:
    """Connects this process with the others of its job, within ``timeout`` seconds; it does nothing in a single one.

    All of them call it, before anything else of theirs uses JAX. From then on the devices of all processes are those
    that a mesh has, and all processes do the same calls in the same order. Which process this is follows from the
    variables that ``nervure launch`` sets, else from those of Slurm, Open MPI and others that
    ``jax.distributed.initialize`` knows.

    InvalidArgument if the variables cannot be read, the others are not reached in time, or JAX was used before;
    NotSupported if there are several processes and no jax.

    >>> nv.processes.join()
    """
    global _joined
    if type(timeout) not in (int, float) or not 0 < timeout < 1e6:
        raise _error("this is no time to wait", operand="timeout", got=f"{timeout!r:.40}",
                     expected="seconds, more than 0", help="leave it out: a minute is enough on most clusters")
    if _joined:
        return
    place, jax = _place(os.environ), _jax(os.environ)
    if jax is None or jax.distributed.is_initialized():
        return
    if place is None:
        _joined = _initialized(jax, {}, timeout, "all processes start, and reach the first one's machine")
        found = _started(os.environ)
        if not _joined and found is not None:
            raise _error("no variables say where the first process listens", got=f"{found[0]}={found[1]}",
                         expected=f"{COORDINATOR}=HOST:PORT, or what jax.distributed.initialize knows",
                         help=f"start the processes by srun, by nervure launch, or with {COORDINATOR}; "
                              f"{found[0]}=1 is one process")
    elif place.total > 1:
        if place.own:
            _reach(place, timeout)
        _joined = _initialized(jax, {
            "coordinator_address": place.coordinator, "num_processes": place.total, "process_id": place.own,
            "cluster_detection_method": "deactivate"}, timeout,
            f"start all {place.total} of them: nervure launch -n {place.total} -- COMMAND")
    if _joined:
        atexit.register(_leave_after_error)


def count() -> int:
    """Returns the number of processes of this job; one that was started alone, or has not joined, is the only one.

    >>> nv.processes.count()
    1
    """
    jax = _joined_jax()
    return 1 if jax is None else jax.process_count()


def index() -> int:
    """Returns the number of this process in its job, from 0 on. The first one, 0, writes what belongs to all.

    >>> nv.processes.index()
    0
    """
    jax = _joined_jax()
    return 0 if jax is None else jax.process_index()


def _joined_jax() -> Any:
    """Returns JAX if this process has joined a job by it; None otherwise."""
    jax = sys.modules.get("jax")
    return jax if jax is not None and jax.distributed.is_initialized() else None


def ends_here(is_asked: bool) -> bool:
    """Returns whether this process ends at this point of its work, because it ``is_asked`` to. In a job all processes
    do at the same point if one of them is asked, or has received SIGTERM; so all of them come here equally often.

    >>> ends_here(False)
    False
    """
    global _points, _ends
    if count() == 1:
        return is_asked
    from jax.experimental import multihost_utils  # JAX documents it for this
    if is_asked:
        signal.raise_signal(signal.SIGTERM)  # JAX tells the others
    _points += 1
    _ends = _ends or bool(multihost_utils.reached_preemption_sync_point(_points))
    return _ends


def leave(status: int) -> NoReturn:
    """Ends this process with an exit ``status``, without waiting for the others, as Python's exit does once they are
    connected.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(status)


def status_after(error: BaseException) -> int:
    """Returns the exit status of a program that an ``error`` ends: 75 if another process has caused it.

    >>> status_after(ValueError()), status_after(ProcessLost("it is gone"))
    (1, 75)
    """
    return LOST if isinstance(error, ProcessLost) else 1


def lost(error: Exception) -> ProcessLost | None:
    """Returns what an error of JAX's means if another process has caused it; None for any other error."""
    text = " ".join(str(error).split())
    if not any([word in text for word in _CONNECTIONS]):
        return None
    return ProcessLost("another process of the job has ended", op="processes", got=text[:200],
                       expected="all processes of the job", location=None,
                       help="look at the output of the others; a training goes on from its newest checkpoint")


def _leave_after_error() -> None:
    """Leaves a program that an error has ended: the others would wait for this process, and it for them. Where all end
    at one point, as they are asked to, they do wait for each other.
    """
    error = getattr(sys, "last_value", None)
    if error is not None and not _ends:
        leave(status_after(error))


def _jax(environment: os._Environ[str]) -> Any:
    """Returns the module jax; None if there is none and no need of it."""
    try:
        with forks.importing():
            import jax
        return jax
    except ImportError:
        found = _started(environment)
        if found is None:
            return None
        raise NotSupported("several processes are connected by jax", op="join", got=f"no package jax, {found[0]}="
                           f"{found[1]}", expected="jax", help='pip install "nervure[xla]"', location=None) from None


def _started(environment: os._Environ[str]) -> tuple[str, str] | None:
    """Returns the variable that says that there are several processes, with its value; None if none does."""
    return next(((name, environment[name]) for name in _COUNTS if environment.get(name, "1") != "1"), None)


def _place(environment: os._Environ[str]) -> PlaceInJob | None:
    """Returns the place that plain variables name; None if they name none."""
    address = environment.get(COORDINATOR)
    names = next((names for names in _PLACES if any([name in environment for name in names])), None)
    if names is None or (address is None and names != _PLACES[0]):
        return None
    host, _, port = (address or "").rpartition(":")
    number, own = [_number(environment.get(name)) for name in names]
    if number == 1 and own == 0:
        return PlaceInJob("", 1, 0)
    if not host or _number(port) is None or not number or own is None or own >= number:
        said = ", ".join([f"{name}={environment.get(name, '')}" for name in (COORDINATOR, *names)])
        raise _error("the variables that name this process cannot be read", got=said,
                     expected="HOST:PORT, a number of processes, and a smaller number from 0 on",
                     help="nervure launch -n 4 -- COMMAND sets all three")
    return PlaceInJob(str(address), number, own)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None


def _reach(place: PlaceInJob, timeout: float) -> None:
    """Waits until the first process listens; InvalidArgument if it does not in time. JAX would abort this process."""
    host, _, port = place.coordinator.rpartition(":")
    end, last = time.monotonic() + timeout, ""
    while time.monotonic() < end:
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=max(1.0, timeout / 10)).close()
            return
        except (OSError, OverflowError) as error:
            last = str(error)
        time.sleep(0.1)
    raise _error("the first process is not reached", operand=COORDINATOR, got=f"{place.coordinator}: {last}",
                 expected=f"a process that listens there, within {timeout:g} s",
                 help="start the first process (JAX_PROCESS_ID=0) on that machine, look whether it has ended, and "
                      "whether a firewall closes the port")


def _initialized(jax: Any, arguments: dict[str, Any], timeout: float, help: str) -> bool:
    """Connects as ``arguments`` say, and returns whether there was anything to connect.

    A thread does it: where it takes too long JAX would abort the process, with a message of its inside.
    """
    errors: list[Exception] = []

    def connect() -> None:
        try:
            jax.distributed.initialize(**arguments, initialization_timeout=int(timeout + _LATER),
                                       heartbeat_timeout_seconds=HEARTBEAT)
        except Exception as error:  # JAX raises ValueError, RuntimeError, and errors of its own
            errors.append(error)
    thread = threading.Thread(target=connect, name="nervure joins", daemon=True)
    thread.start()
    thread.join(timeout)
    if thread.is_alive():
        raise _error("the other processes have not come", got=f"no answer of all within {timeout:g} s",
                     expected="all processes of the job", help=help)
    if not errors:
        return True
    text = " ".join(str(errors[0]).split())[:200]
    if not arguments and isinstance(errors[0], ValueError) and "defined" in text:
        return False  # JAX knows no launcher here
    if "before" in text and not arguments and _started(os.environ) is None:
        return False  # a process alone may have used JAX
    if "before" in text:
        raise _error("JAX was used before this process joined the others", got=text,
                     expected="nothing of JAX before it", help="call nv.processes.join() at the start of the program")
    raise _error("JAX does not connect the processes", got=text, expected="a connection",
                 help="look for another program at the same port; another one is another job")


def _error(message: str, **parts: Any) -> NervureError:
    return InvalidArgument(message, op="join", **parts)


__all__ = ["count", "index", "join"]

"""The target of compilation: the instructions that this machine has, and the width of its vectors.

There are two levels, each with exactly the instructions named here, whatever else the processor has. Instructions that
would round differently on some machines (native half precision, bfloat16 conversions that flush denormals) are
excluded. So results have the same bits on both levels, except for the sign and the payload of NaN, which LLVM's
commuting of operands decides. Sums of products of bytes, which are exact, are an instruction on some machines of both
levels.

>>> target = Target.avx2()
>>> target.vector_bytes, "fma" in target.features, "avx512f" in target.features
(32, True, False)
>>> Target.host().vector_bytes >= 32
True

The description is read from the system, not from LLVM, which a program with its code in the cache never loads.
"""

from __future__ import annotations

import platform
import sys
from functools import cache
from typing import NamedTuple

from nervure import flags
from nervure.errors import NotSupported
from nervure.support.machine import Machine, with_vectors
from nervure.transformers.cpu.settings import llvm_version

# LLVM's name of a feature: Linux's name. The level x86-64-v3, without the features that every such processor has.
_AVX2 = {"sse3": "pni", "ssse3": "ssse3", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "avx": "avx", "avx2": "avx2",
         "fma": "fma", "f16c": "f16c", "bmi": "bmi1", "bmi2": "bmi2", "lzcnt": "abm", "movbe": "movbe",
         "popcnt": "popcnt", "cx16": "cx16", "xsave": "xsave"}
_AVX512 = {"avx512f": "avx512f", "avx512bw": "avx512bw", "avx512cd": "avx512cd", "avx512dq": "avx512dq",
           "avx512vl": "avx512vl"}
_DOT = {"avx512vnni": "avx512_vnni", "avxvnni": "avx_vnni"}
_ALWAYS = ("64bit", "cmov", "cx8", "crc32", "fxsr", "mmx", "sahf", "sse", "sse2")  # crc32 comes with sse4.2
_NEEDED = ("avx2", "fma", "f16c")


class Target(NamedTuple):
    """A kind of machine. Equal targets share code."""

    name: str                   # "avx2" or "avx512"
    machine: Machine            # that passes, plans and kernels are made for
    features: tuple[str, ...]   # LLVM's names of the instruction sets allowed; all others are not
    processor: str              # the processor to tune for: LLVM's name, or this machine's from Linux

    @staticmethod
    def host() -> Target:
        """Returns this machine's target, which the switches ``cpu_features`` and ``share_loops`` may reduce.
        NotSupported if instructions are missing.
        """
        found = Target.avx2() if flags.cpu_features else _host()
        return found if flags.share_loops else found._replace(machine=found.machine._replace(shares_loops=False))

    @staticmethod
    def avx2() -> Target:
        """Returns the target of this machine without AVX-512."""
        return _without_avx512(_host())

    @staticmethod
    def avx512() -> Target:
        """Returns the target of any machine with AVX-512, even if this one lacks it: its code can be read, not run."""
        return Target("avx512", with_vectors(64), tuple(sorted([*_ALWAYS, *_AVX2, *_AVX512])), "x86-64-v4")

    @property
    def adds_products_of_bytes(self) -> bool:
        """Whether one instruction adds four products of bytes to each 32 bits of a vector, and does not saturate."""
        return "avx512vnni" in self.features or "avxvnni" in self.features and self.vector_bytes == 32

    @property
    def vector_bytes(self) -> int:
        """The bytes of a vector."""
        return self.machine.vector_bytes

    @property
    def is_host(self) -> bool:
        """Whether the processor is this machine's; LLVM finds its name."""
        return " " in self.processor

    @staticmethod
    def check_llvm() -> None:
        """Raises NotSupported without an LLVM that can generate code."""
        llvm_version()

    @property
    def key(self) -> str:
        """A text that, besides a kernel's, determines the generated code: equal keys give equal code."""
        return (f"{self.name}; {self.processor}; {','.join(self.features)}; {_described(self.machine)}; "
                f"llvmlite {llvm_version()}")


@cache
def _described(machine: Machine) -> str:
    return repr(tuple(machine))


def read_target(description: str) -> Target:
    """Returns the target for a machine from the text of /proc/cpuinfo, whose first processor counts."""
    fields: dict[str, str] = {}
    for line in description.partition("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        fields[name.strip()] = value.strip()
    flagged = set(fields.get("flags", "").split())
    found = {name for name, flag in {**_AVX2, **_AVX512, **_DOT}.items() if flag in flagged}
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise NotSupported("this processor lacks instructions that all generated code uses", op="cpu transformer",
                           got=f"no {', '.join(missing)}", expected=", ".join(_NEEDED), location=None,
                           help="nv.transformers.make_transformer('interpreter') runs everywhere")
    processor = " ".join([fields.get(name, "?") for name in ("vendor_id", "cpu family", "model", "stepping")])
    target = Target("avx512", with_vectors(64), tuple(sorted({*_ALWAYS, *found})), processor)
    return target if found.issuperset(_AVX512) else _without_avx512(target)


def _without_avx512(target: Target) -> Target:
    features = tuple([name for name in target.features if name not in _AVX512 and name != "avx512vnni"])
    return target._replace(name="avx2", machine=with_vectors(32), features=features)


@cache
def _host() -> Target:
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        raise NotSupported("the cpu transformer makes code for Linux on x86-64", op="cpu transformer",
                           got=f"{sys.platform} on {platform.machine()}", location=None,
                           help="nv.transformers.make_transformer('interpreter') runs everywhere")
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            return read_target(file.read(16_384))  # a processor takes some 2,000 bytes; there may be hundreds
    except OSError as error:
        raise NotSupported("the system does not say what processor this is", op="cpu transformer", got=str(error),
                           expected="/proc/cpuinfo", location=None) from None

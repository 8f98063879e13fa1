"""A loop whose state is in registers: from what it starts with, through as many turns as a condition asks for.

>>> from nervure.transformers.cpu.compile.llvm.builder import Builder
>>> from nervure.transformers.cpu.compile.llvm.types import I64
>>> b = Builder("bits", [("x", I64)], I64)
>>> zero = b.constant(I64, 0)
>>> rest, count = repeat([b.arguments[0], zero], lambda rest, count: rest.not_equal(0),
...                      lambda rest, count: [rest & (rest - 1), count + 1])
>>> b.ret(count)
>>> print(b.text())
define i64 @bits(i64 %x) {
entry:
  br label %while0
while0:
  %v0 = phi i64 [ %x, %entry ], [ %again0.0, %again0 ]
  %v1 = phi i64 [ 0, %entry ], [ %again0.1, %again0 ]
  %v2 = icmp ne i64 %v0, 0
  br i1 %v2, label %turn0, label %end0
turn0:
  %v3 = sub i64 %v0, 1
  %v4 = and i64 %v0, %v3
  %v5 = add i64 %v1, 1
  br label %again0
again0:
  %again0.0 = bitcast i64 %v4 to i64
  %again0.1 = bitcast i64 %v5 to i64
  br label %while0
end0:
  ret i64 %v1
}
<BLANKLINE>
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from nervure.transformers.cpu.compile.llvm.builder import Register


def repeat(start: Sequence[Register], goes_on: Callable[..., Register], turn: Callable[..., Sequence[Register]],
           unlikely: bool = False) -> list[Register]:
    """The state after the last turn. ``goes_on`` says of a state whether one more follows, ``turn`` gives the next."""
    b = start[0].builder
    head, body, again, done = [b.label(hint) for hint in ("while", "turn", "again", "end")]
    before = b.current
    b.block(head)
    # What a turn gives gets its name before the turn is written: the copies cost nothing.
    names = [Register(b, entry.type, f"%{again}.{number}") for number, entry in enumerate(start)]
    state = [b.phi(entry.type, (entry, before), (name, again)) for entry, name in zip(start, names, strict=True)]
    b.branch(goes_on(*state), body, done, unlikely)
    b.block(body)
    following = turn(*state)
    b.block(again)
    for name, entry in zip(names, following, strict=True):
        b.line(f"{name.text} = bitcast {entry.type} {entry.text} to {entry.type}")
    b.jump(head)
    b.block(done)
    return state

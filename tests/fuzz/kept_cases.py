"""Small functions that went wrong once; each is checked as it failed. ``python -m tests.fuzz`` prints new ones.

>>> len(KEPT) == len({kept.name for kept in KEPT})
True
"""

from __future__ import annotations

from typing import NamedTuple


class Kept(NamedTuple):
    """What the case shows, the check that failed, values for the symbols, the seed of the arguments, the function."""

    name: str
    check: str
    bindings: list[dict[str, int]]
    seed: int
    text: str


KEPT = [
    Kept("a place in nothing, which is out of range and is not read", "values", [{"n": 0}, {"n": 3}], 1, '''\
nervure 1
symbol n
function kept(%0: f32[n, 300], %1: i64[2], %2: f16[70, n]) {
  f32[2, 300] %3 = Gather(%0, %1, axis=0)
  f16[70, 2] %4 = Gather(%2, %1, axis=1)
  return %3, %4
}
'''),
    Kept("a place in nothing, which is out of range and is not written", "values", [{"n": 0}, {"n": 3}], 1, '''\
nervure 1
symbol n
function kept(%0: f32[n, 3000], %1: i64[2], %2: f32[2, 3000]) {
  f32[n, 3000] %3 = Scatter(%0, %1, %2, axis=0, mode="add")
  return %3
}
'''),
    Kept("a panel of all columns that any row sees, of which there are fewer", "values",
         [{"n": 1}, {"n": 33}, {"n": 700}], 1, '''\
nervure 1
symbol n:1..
function kept(%0: f64[2, 513, 80], %1: f64[n, 2, 80], %2: f64[2, n, 2]) {
  f64[2, n, 80] %3 = Permute(%1, order=(1, 0, 2))
  f64[2, 513, 2] %4 = Attention(%0, %3, %2, before=None, after=0)
  return %4
}
'''),
    Kept("a result is another shape of what Python computes", "values", [{}], 10007, '''\
nervure 1
function kept(%0: i64[1, 1], %1: i64[1, 65]) {
  i64[1, 65] %2 = Contract(%0, %1, x_indices=(0, 2), y_indices=(2, 1), indices=(0, 1))
  i64[1, 5, 13] %3 = Reshape(%2, shape=(1, 5, 13))
  return %3
}
'''),
    Kept("Python reads what lies in memory in another shape", "values", [{}], 1, '''\
nervure 1
function kept(%0: f32[3, 5], %1: f32[5, 2]) {
  f32[3, 5] %2 = Add(%0, %0)
  f32[3, 2] %3 = Contract(%2, %1, x_indices=(0, 2), y_indices=(2, 1), indices=(0, 1))
  f32[15] %4 = Reshape(%2, shape=(15,))
  return %3, %4
}
'''),
    Kept("positions at places that data names", "values", [{}], 7, '''\
nervure 1
function kept(%0: i64[2, 3]) {
  c64[5, 100] %1 = Iota(shape=(5, 100), axis=0, dtype=c64)
  i64[2, 3] %2 = Extent(length=5, dtype=i64, shape=(2, 3))
  i64[2, 3] %3 = Mod(%0, %2)
  c64[2, 3, 100] %4 = Gather(%1, %3, axis=0)
  return %4
}
'''),
    Kept("a function that three runs need where lanes have rows", "work", [{}], 418, '''\
nervure 1
function kept(%0: f32[65, 65]) {
  f32[65, 65] %1 = Exp(%0)
  f32[65] %2 = Mean(%1, axes=(0,))
  f32[65, 65] %3 = Broadcast(%2, shape=(65, 65), axes=(0,))
  f32[65, 65] %4 = Subtract(%1, %3)
  f32[65, 65] %5 = Square(%4)
  f32[65] %6 = Sum(%5, axes=(0,))
  f32[65, 65] %7 = Broadcast(%6, shape=(65, 65), axes=(0,))
  f32[65, 65] %8 = Divide(%1, %7)
  return %8
}
'''),
    Kept("a choice among nothing", "values", [{"N": 3}, {"N": 0}], 0, '''\
nervure 1
symbol N:0..
function kept(%0: f32[N, 2]) {
  f32[2] %1 = Max(%0, axes=(0,))
  return %1
}
'''),
    Kept("a product of one complex number", "values", [{}], 0, '''\
nervure 1
function kept(%0: c64[]) {
  c64[] %1 = Prod(%0, axes=())
  return %1
}
'''),
    Kept("a new value in place that a later loop of the kernel reads", "values", [{}], 512522, '''\
nervure 1
variable $v0: f32[3, 3, 3]
function kept() {
  f32[3, 3, 3] %0 = ReadVariable(variable=$v0)
  f32[3, 3, 3] %1 = Add(%0, %0)
  f32[3, 3, 3] %2 = Multiply(%1, %0)
  i64[] %3 = ArgMin(%0, axes=(0, 1, 2))
  update $v0: f32[3, 3, 3] = %2
  return %3
}
'''),
    Kept("a sum of equal numbers along outer axes", "values", [{}], 501732, '''\
nervure 1
function kept(%0: f64[9, 9, 9, 9]) {
  f64[9, 9, 9, 9] %1 = Full(number=0x1.0p+0, dtype=f64, shape=(9, 9, 9, 9))
  f64[9, 9, 9, 9] %2 = Minimum(%0, %1)
  f64[9, 9, 9, 9] %3 = Exp(%2)
  f64[9] %4 = Sum(%3, axes=(0, 1, 2))
  return %4
}
'''),
    Kept("what follows a product and is computed elsewhere needs the product in memory", "values", [{}], 88085, '''\
nervure 1
function kept(%0: f32[100, 3], %1: f32[100, 7, 1, 3]) {
  f32[7, 1] %2 = Contract(%0, %1, x_indices=(0, 1), y_indices=(0, 2, 3, 1), indices=(2, 3))
  f32[7, 1] %3 = Relu(%2)
  f32[1, 7] %4 = Permute(%3, order=(1, 0))
  f32[1, 7] %5 = Full(number=0x1.0p+1, dtype=f32, shape=(1, 7))
  f32[1, 7] %6 = Multiply(%4, %5)
  f32[1, 7] %7 = LogSoftmax(%6, axes=(0,))
  return %7
}
'''),
    Kept("numbers that are rounded each its own way, and subtracted then", "values", [{}], 12208487, '''\
nervure 1
variable $v0: f32[4096, 3] order (1, 0)
function kept() {
  f32[4096, 3] %0 = ReadVariable(variable=$v0)
  f32[] %1 = Mean(%0, axes=(0, 1))
  f32[4096, 3] %2 = Broadcast(%1, shape=(4096, 3), axes=(0, 1))
  f32[4096, 3] %3 = Subtract(%0, %2)
  f32[4096, 3] %4 = Sigmoid(%3)
  f32[] %5 = Sum(%4, axes=(0, 1))
  f32[] %6 = Absolute(%5)
  f32[] %7 = Full(number=0x1.0p-1, dtype=f32, shape=())
  f32[] %8 = Add(%6, %7)
  f32[4096, 3] %9 = Broadcast(%8, shape=(4096, 3), axes=(0, 1))
  f32[4096, 3] %10 = Divide(%3, %9)
  f32[4096] %11 = Max(%10, axes=(1,))
  f32[4096, 3] %12 = Broadcast(%11, shape=(4096, 3), axes=(1,))
  f32[4096, 3] %13 = Subtract(%10, %12)
  f32[4096, 3] %14 = Absolute(%13)
  f32[4096, 3] %15 = Add(%0, %14)
  f32[4096, 3] %16 = Multiply(%15, %14)
  f32[4096, 3, 3] %17 = Broadcast(%0, shape=(4096, 3, 3), axes=(1,))
  f32[4096, 3, 3] %18 = Full(number=0x1.0p+1, dtype=f32, shape=(4096, 3, 3))
  f32[4096, 3, 3] %19 = Minimum(%17, %18)
  f32[4096, 3, 3] %20 = Exp(%19)
  update $v0: f32[4096, 3] = %16
  return %20
}
'''),
    Kept("columns that are all equal, and rows that a table says", "values", [{}], 13102138, '''\
nervure 1
function kept(%0: f32[3, 1], %1: f32[]) {
  f32[3, 1] %2 = Negative(%0)
  f32[1] %3 = Broadcast(%1, shape=(1,), axes=(0,))
  f32[5, 1] %4 = Broadcast(%3, shape=(5, 1), axes=(0,))
  f32[5, 3] %5 = Contract(%2, %4, x_indices=(0, 2), y_indices=(1, 2), indices=(1, 0))
  return %5
}
'''),
    Kept("a reduction in lanes over what a remainder turns", "values", [{}], 13202882, '''\
nervure 1
variable $v1: f64[3, 3]
function kept() {
  f64[3, 3] %0 = ReadVariable(variable=$v1)
  f64[3, 3] %1 = Silu(%0)
  f64[3, 3] %2 = IndexView(%0, map=(3, 3) -> (%0, (%0 + %1) % 3))
  f64[3, 3] %3 = IndexView(%2, map=(3, 3) -> (2 - %1, %0))
  f64[3, 3] %4 = Minimum(%1, %3)
  f64[3] %5 = Max(%4, axes=(0,))
  f64[3, 3] %6 = Broadcast(%5, shape=(3, 3), axes=(0,))
  f64[3, 3] %7 = Subtract(%4, %6)
  update $v1: f64[3, 3] = %7
  return
}
'''),
    Kept("a chain of equal products that no block ends", "values", [{}], 14108184, '''\
nervure 1
function kept(%0: f32[3, 4096, 2], %1: f32[2]) {
  f32[4096, 2] %2 = Broadcast(%1, shape=(4096, 2), axes=(0,))
  f32[3, 4096, 2] %3 = Broadcast(%2, shape=(3, 4096, 2), axes=(0,))
  f32[3, 2], f32[3, 2] %4 = ProductChains(%0, %3, %3, axes=(1,))
  return %4:1
}
'''),
    Kept("an element of what an update writes is read beside it", "values", [{}], 110004682, '''\
nervure 1
variable $v0: f32[40, 40]
function kept(%0: f32[40, 40]) {
  f32[40, 40] %1 = ReadVariable(variable=$v0)
  f32[40, 40] %2 = Add(%0, %1)
  f32[40, 40] %3 = UpdateView(%1, %2, map=(40, 40) -> (%0, %1))
  f32[] %4 = IndexView(%2, map=() -> (39, 20))
  f32[] %5 = Full(number=0x1.0p+0, dtype=f32, shape=())
  f32[] %6 = Minimum(%4, %5)
  update $v0: f32[40, 40] = %3
  return %6
}
'''),
    Kept("what is sorted becomes a variable that lies in another order", "values", [{}], 130005743, '''\
nervure 1
variable $v1: f32[3, 9, 3] order (2, 0, 1)
variable $v0: f32[3, 9, 3] order (2, 0, 1)
function kept() {
  f32[3, 9, 3] %0 = ReadVariable(variable=$v1)
  f32[3, 9, 3] %1 = GeluTanh(%0)
  f32[3, 9, 2], i64[3, 9, 2] %2 = TopK(%1, descending=False, k=2)
  update $v0: f32[3, 9, 3] = %1
  return %2:1
}
'''),
    Kept("lines of columns among rows of two axes", "values", [{}], 170001306, '''\
nervure 1
function kept(%0: f32[3, 2, 3], %1: f32[3, 5, 4]) {
  f32[2, 5, 3, 4] %2 = Contract(%0, %1, x_indices=(0, 1, 2), y_indices=(2, 3, 4), indices=(1, 3, 0, 4))
  return %2
}
'''),
    Kept("sums of NaN of both signs, which a chain of iterations adds in the other order", "unrolled", [{}], 1, '''\
nervure 1
function body(%0: f32[16], %1: f32[16]) {
  f32[16] %2 = Add(%1, %0)
  return %2
}
function kept(%0: f32[16]) {
  f32[16] %1 = Subtract(%0, %0)
  f32[16] %2 = Divide(%1, %1)
  f32[16] %3 = Negative(%2)
  f32[3, 16] %4 = Broadcast(%3, shape=(3, 16), axes=(0,))
  f32[16] %5 = Scan(%2, %4, body=@body, carries=1, slices=1, length=3, reverse=False, saved=(), sums=())
  return %5
}
'''),
    Kept("sums of equal products, most of which other ones take away", "values", [{}], 2, '''\
nervure 1
function kept(%0: f32[7, 3], %1: f32[]) {
  f32[3, 257] %2 = Broadcast(%1, shape=(3, 257), axes=(0, 1))
  f32[3, 257] %3 = Tanh(%2)
  f32[257, 7, 3] %4 = Broadcast(%0, shape=(257, 7, 3), axes=(0,))
  f32[7] %5 = Contract(%3, %4, x_indices=(0, 1), y_indices=(1, 2, 0), indices=(2,))
  return %5
}
'''),
    Kept("a part of a whole that shows what the same loops make at other places, of which some are outside", "values",
         [{}], 1, '''\
nervure 1
function kept() {
  i32[3, 2] %0 = Full(number=3, dtype=i32, shape=(3, 2))
  i32[3, 2] %1 = Extent(length=3, dtype=i32, shape=(3, 2))
  i32[3, 2] %2 = Mod(%0, %1)
  i32[3, 2] %3 = GatherElements(%0, %2, axis=0)
  i32[3, 2] %4 = FilledView(%3, map=(3, 2) -> (%0, 2*%1 - 1), number=1)
  i32[3, 4] %5 = Concatenate(%4, %3, axis=1)
  return %5
}
'''),
    Kept("a maximum of nothing in a branch", "values", [{"n0": 0}], 1, '''\
nervure 1
symbol n0
function taken(%0: f32[n0]) {
  f32[] %1 = Max(%0, axes=(0,))
  return %1
}
function other(%0: f32[n0]) {
  f32[] %1 = Sum(%0, axes=(0,))
  return %1
}
function kept(%0: f32[n0], %1: bool[]) {
  f32[] %2 = If(%1, %0, branches=(@taken, @other))
  return %2
}
'''),
    Kept("a copy of a variable that has none of its elements", "values", [{}], 3, '''\
nervure 1
variable $v1: f64[3, 1]
function kept() {
  f64[3, 1] %0 = ReadVariable(variable=$v1)
  f64[3, 2] %1 = Pad(%0, paddings=((0, 0), (2, -1)), number=7)
  f64[3, 2] %2 = Reverse(%1, axes=(0,))
  return %2
}
'''),
    Kept("attention that is a result, and a part of another one, in a loop that kernels share", "values",
         [{"m": 40}, {"m": 2}, {"m": 200}], 3, '''\
nervure 1
symbol m
function kept(%0: f32[1, m, 80], %1: f32[1, m, 2], %2: f32[1, m, 80], %3: f32[1, m, 2]) {
  f32[1, m, 2] %4 = Attention(%2, %0, %3, before=25, after=0)
  f32[1, m, 2] %5 = Multiply(%4, %1)
  f32[1, m, 2] %6 = Add(%5, %5)
  f32[1, m, 4] %7 = Concatenate(%5, %6, axis=2)
  return %4, %7
}
'''),
    Kept("two reads of every third element, of which the second read all lanes", "values", [{"n": 17}], 330001167, '''\
nervure 1
symbol n:1..
function kept(%0: f32[33, 1, 3], %1: f32[n, 33, 3]) {
  f32[n, 33, 1] %2 = Convolution(%1, %0, strides=(3,), dilations=(1,), paddings=((2, 0),), groups=33)
  f32[n, 33, 1] %3 = Add(%2, %2)
  f32[n, 33, 1] %4 = Multiply(%3, %2)
  f32[n, 33, 1] %5 = Tanh(%4)
  f32[n, 1] %6 = Max(%5, axes=(1,), of_nothing=False)
  return %6
}
'''),
]

"""Ten kernels by hand, one for each way in which loops are used."""

from __future__ import annotations

from nervure.kernel.ir import Buffer, Kernel, Variable
from nervure.types.dim import dim, index
from nervure.types.dtype import bfloat16, bool_, float32, int64
from tests.kernel.block import Block, at, number

N, R, C = dim("N"), dim("R"), dim("C", min=1)


def pointwise() -> Kernel:
    """y = (a + b) * c"""
    a, b, c = [Buffer(name, float32, N, "in") for name in "abc"]
    y = Buffer("y", float32, N, "out")
    top, body = Block(), Block()
    total = body.apply("add", body.load(a, at(i0=1)), body.load(b, at(i0=1)))
    body.store(y, at(i0=1), body.apply("multiply", total, body.load(c, at(i0=1))))
    top.loop("%0", N, body, parallel=True, vector=True)
    return Kernel("pointwise", (a, b, c, y), top.body)


def strided() -> Kernel:
    """The negative of the transposed of a matrix whose rows are read backwards"""
    x, y = Buffer("x", float32, 24, "in"), Buffer("y", float32, 24, "out")
    top, rows, body = Block(), Block(), Block()
    body.store(y, at(i0=4, i1=1), body.apply("negative", body.load(x, at(5, i0=-1, i1=6))))
    rows.loop("%1", 4, body, vector=True)
    top.loop("%0", 6, rows, parallel=True)
    return Kernel("strided", (x, y), top.body)


def softmax() -> Kernel:
    """exp(x - max(x)) / sum(exp(x - max(x))) of each row"""
    x, y = Buffer("x", float32, R * C, "in"), Buffer("y", float32, R * C, "out")
    row = Buffer("row", float32, C, "scratch")
    top, body, first, second, third = Block(), Block(), Block(), Block(), Block()
    greatest, = body.reduce(["maximum"], {"%1": C}, first, first.load(x, at(i0=C, i1=1)))
    power = second.apply("exp", second.apply("subtract", second.load(x, at(i0=C, i1=1)), greatest))
    second.store(row, at(i1=1), power)
    total, = body.reduce(["add"], {"%1": C}, second, power)
    third.store(y, at(i0=C, i1=1), third.apply("divide", third.load(row, at(i1=1)), total))
    body.loop("%1", C, third, vector=True)
    top.loop("%0", R, body, parallel=True)
    return Kernel("softmax", (x, y, row), top.body)


def outer_sum() -> Kernel:
    """The sum over the outer axis: each lane has a column"""
    x, y = Buffer("x", float32, R * C, "in"), Buffer("y", float32, C, "out")
    top, columns, body = Block(), Block(), Block()
    total, = columns.reduce(["add"], {"%0": R}, body, body.load(x, at(i0=C, i1=1)))
    columns.store(y, at(i1=1), total)
    top.loop("%1", C, columns, parallel=True, vector=True)
    return Kernel("outer_sum", (x, y), top.body)


def gather() -> Kernel:
    """y[i, j] = x[rows[i], j], with the rows checked"""
    x, rows, y = Buffer("x", float32, 5 * 8, "in"), Buffer("rows", int64, N, "in"), Buffer("y", float32, N * 8, "out")
    top, outer, body = Block(), Block(), Block()
    row = outer.load(rows, at(i0=1))
    low, high = outer.apply("less_equal", number(0, int64), row), outer.apply("less", row, number(5, int64))
    inside = outer.apply("bitwise_and", low, high)
    outer.check(inside, 3, row)
    element = body.load(x, at(0, [(8, row)], i1=1), inside, number(0.0, float32))
    body.store(y, at(i0=8, i1=1), element)
    outer.loop("%1", 8, body, vector=True)
    top.loop("%0", N, outer, parallel=True)
    return Kernel("gather", (x, rows, y), top.body)


def scatter_add() -> Kernel:
    """y[rows[i], j] += x[i, j], in order"""
    x, rows, y = Buffer("x", float32, N * 8, "in"), Buffer("rows", int64, N, "in"), Buffer("y", float32, 40, "inout")
    top, outer, body = Block(), Block(), Block()
    row = body.load(rows, at(i0=1))
    inside = body.apply("less", body.apply("bitcast", row, dtype=int64), number(5, int64))
    body.store(y, at(0, [(8, row)], i1=1), body.load(x, at(i0=8, i1=1)), "add", inside)
    outer.loop("%0", N, body)
    top.loop("%1", 8, outer, parallel=True, vector=True)
    return Kernel("scatter_add", (x, rows, y), top.body)


def argmax() -> Kernel:
    """The first position of the greatest element of each row"""
    x, y = Buffer("x", float32, R * 7, "in"), Buffer("y", int64, R, "out")
    top, rows, body, combine = Block(), Block(), Block(), Block()
    pair = body.load(x, at(i0=7, i1=1)), body.index(index(1))
    left, right = [(Variable(float32), Variable(int64)) for _ in range(2)]
    is_less = combine.apply("less", left[0], right[0])
    combined = [combine.apply("where", is_less, after, before) for before, after in zip(left, right, strict=True)]
    _, position = rows.fold({"%1": 7}, body, pair, left, right, combine, combined)
    rows.store(y, at(i0=1), position)
    top.loop("%0", R, rows, parallel=True)
    return Kernel("argmax", (x, y), top.body)


def padded() -> Kernel:
    """Six elements between two zeros at either end"""
    x, y = Buffer("x", float32, 6, "in"), Buffer("y", float32, 10, "out")
    top, body = Block(), Block()
    place = body.index(index(0) - 2)
    low, high = body.apply("less_equal", number(0, int64), place), body.apply("less", place, number(6, int64))
    valid = body.apply("bitwise_and", low, high)
    body.store(y, at(i0=1), body.load(x, at(-2, i0=1), valid, number(0.0, float32)))
    top.loop("%0", 10, body, parallel=True, vector=True)
    return Kernel("padded", (x, y), top.body)


def several() -> Kernel:
    """The sum and the maximum of each row of bfloat16, and which elements are negative"""
    x, total = Buffer("x", bfloat16, R * C, "in"), Buffer("total", bfloat16, R, "out")
    greatest, negative = Buffer("greatest", float32, R, "out"), Buffer("negative", bool_, R * C, "out")
    top, rows, body = Block(), Block(), Block()
    element = body.apply("convert", body.load(x, at(i0=C, i1=1)), dtype=float32)
    body.store(negative, at(i0=C, i1=1), body.apply("less", element, number(0.0, float32)))
    added, most = rows.reduce(["add", "maximum"], {"%1": C}, body, element, element)
    rows.store(total, at(i0=1), rows.apply("convert", added, dtype=bfloat16))
    rows.store(greatest, at(i0=1), most)
    top.loop("%0", R, rows, parallel=True)
    return Kernel("several", (x, total, greatest, negative), top.body)


def in_place() -> Kernel:
    """m = 0.9 m + 0.1 g; w = w - m"""
    w, m, g = Buffer("w", float32, N, "inout"), Buffer("m", float32, N, "inout"), Buffer("g", float32, N, "in")
    top, body = Block(), Block()
    kept = body.apply("multiply", body.load(m, at(i0=1)), number(0.9, float32))
    momentum = body.apply("fma", body.load(g, at(i0=1)), number(0.1, float32), kept)
    body.store(m, at(i0=1), momentum)
    body.store(w, at(i0=1), body.apply("subtract", body.load(w, at(i0=1)), momentum))
    top.loop("%0", N, body, parallel=True, vector=True)
    return Kernel("in_place", (w, m, g), top.body)


KERNELS = (pointwise, strided, softmax, outer_sum, gather, scatter_add, argmax, padded, several, in_place)

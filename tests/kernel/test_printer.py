"""The text of kernels: golden files, names that never clash, text as a key of structure."""

from __future__ import annotations

import pytest

from nervure.kernel.ir import Buffer, For, Kernel, Literal, Load, Variable
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.printer import describe, print_kernel
from nervure.types.dim import dim, index
from nervure.types.dtype import complex64, float32, int64
from tests.kernel.block import Block, I, at, number
from tests.kernel.kernels import NAMES, kernel_of, text_of


@pytest.mark.parametrize("name", NAMES)
def test_golden_texts(name):
    assert print_kernel(kernel_of(name)) == text_of(name)


def copying(prefix, first, second):
    x, y = Buffer(prefix + "x", float32, 64, "in"), Buffer(prefix + "y", float32, 64, "out")
    top, rows, body = Block(), Block(), Block()
    a, b = index(first), index(second)
    address = at(a // 2 * 8 + b % 3, **{f"i{second}": 1})
    body.store(y, at(**{f"i{second}": 1, f"i{first}": 8}), body.load(x, address))
    rows.loop(LoopIndex(second), 8, body)
    top.loop(LoopIndex(first), 8, rows)
    return Kernel(prefix + "copying", (x, y), top.body)


def test_anonymous_text_has_no_names():
    one, other = print_kernel(copying("a", 0, 1), anonymous=True), print_kernel(copying("b", 7, 3), anonymous=True)
    assert one == other
    assert "    for j < 8:\n      v0 = b0[j + (8*(i//2) + j % 3)]\n      b1[8*i + j] = v0\n" in one
    assert print_kernel(copying("a", 0, 1)) != print_kernel(copying("b", 0, 1))


def test_names_never_clash():
    i, v0 = dim("i"), dim("v0")
    x, top, body = Buffer("j", float32, i * v0, "inout"), Block(), Block()
    body.store(x, at(i0=v0), body.load(x, at(i0=v0)))
    top.loop(I, i, body)
    text = print_kernel(Kernel("clash", (x,), top.body))
    assert text.splitlines()[3:] == ["  for k < i:", "    v1 = j[v0*k]", "    j[v0*k] = v1"]


def nested(depth, body):
    for level in reversed(range(depth)):
        outer = Block()
        outer.loop(LoopIndex(level), 2, body)
        body = outer
    return body.body


def test_more_loops_than_letters():
    assert print_kernel(Kernel("deep", (), nested(13, Block()))).splitlines()[-2:] == [
        " " * 24 + "for i11 < 2:", " " * 26 + "for i12 < 2:"]


def test_names_past_the_letters_never_clash():
    x, body = Buffer("x", float32, dim("i11"), "in"), Block()
    body.load(x, at())
    assert "    for i11_ < 2:\n" in print_kernel(Kernel("deep", (x,), nested(12, body)))


def test_symbols_are_declared_with_the_tightest_bounds():
    x = Buffer("x", float32, dim("N", min=1), "in")
    y = Buffer("y", float32, dim("N", max=9), "out")
    assert print_kernel(Kernel("k", (x, y), ())).splitlines()[1:] == ["  symbol N:1..9"]


def test_symbols_of_statements_are_declared():
    x, body = Buffer("x", float32, 4, "in"), Block()
    body.load(x, at(dim("A", min=2), [(dim("B", min=3), number(1, int64))], i0=dim("C", min=4)))
    body.index(dim("D", min=5) + 1)
    top = Block()
    top.loop(I, dim("E", min=6), body)
    top.reduce(["add"], {I: dim("F", min=7)}, Block(), number(1, int64))
    text = print_kernel(Kernel("k", (x,), top.body)).splitlines()
    assert text[1:7] == [f"  symbol {name}:{low}.." for low, name in enumerate("ABCDEF", 2)]


@pytest.mark.parametrize(("address", "text"), [
    (at(), "0"), (at(3), "3"), (at(-3, i0=1), "i - 3"), (at(i0=-2), "-2*i"), (at(5, i0=-1), "-i + 5"),
    (at(0, [(1, number(2, int64))]), "2_i64"), (at(dim("N") - 1, i0=dim("N") + 1), "(N + 1)*i + N - 1"),
    (at(index(0) // 4), "(i//4)"), (at(i0=-dim("N")), "(-N)*i")])
def test_addresses(address, text):
    x = Buffer("x", float32, 100, "in")
    kernel = Kernel("k", (x,), (For(I, 9, (Load(Variable(float32), x, address),)),))
    assert print_kernel(kernel).splitlines()[-1] == f"    v0 = x[{text}]"


@pytest.mark.parametrize(("literal", "text"), [
    (Literal(0.1, float32), "0.1_f32"), (Literal(-0.0, float32), "-0.0_f32"),
    (Literal(float("nan"), float32), "nan_f32"), (Literal(-float("nan"), float32), "-nan_f32"),
    (Literal(float("-inf"), float32), "-inf_f32"),
    (Literal(complex(1.0, -0.0), complex64), "complex(1.0, -0.0)_c64"), (Literal(7, int64), "7_i64")])
def test_literals_keep_their_bits(literal, text):
    y, top = Buffer("y", literal.dtype, 1, "out"), Block()
    top.store(y, at(), literal)
    assert print_kernel(Kernel("k", (y,), top.body)).splitlines()[-1] == f"  y[0] = {text}"


def test_a_statement_is_described_as_it_is_printed():
    kernel = kernel_of("pointwise")
    loop = kernel.body[0]
    assert describe(kernel, loop) == "pointwise: for i < N parallel vector"
    assert describe(kernel, loop.body[2]) == "pointwise: v2 = add(v0, v1)"

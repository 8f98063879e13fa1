"""The text of a kernel is read back as the kernel that it says; what says none is an error of its line."""

from __future__ import annotations

import random

import pytest

from nervure.errors import FormatError
from nervure.kernel.ir import DEFAULT_ORDER, Address, Buffer, For, Kernel, Literal, Load, Store, Variable
from nervure.kernel.parser import MAX_DEPTH, parse_kernel
from nervure.kernel.printer import print_kernel
from nervure.kernel.schedule import schedule_kernel, vectorise_kernel
from nervure.kernel.simplify import simplify_kernel
from nervure.kernel.verify import verify_kernel
from nervure.support.machine import GENERIC
from nervure.types.dim import dim, dim_max, dim_min, index
from nervure.types.dtype import all_dtypes, bool_, complex64, float32, float64, int64
from tests.kernel.block import I, J
from tests.kernel.kernels import NAMES, kernel_of
from tests.kernel.random_kernels import random_case
from tests.kernel.same import differences
from tests.transformers.cpu.random_kernels import random_kernel

N, M = dim("N"), dim("M", min=1)


def read_back(kernel: Kernel) -> Kernel:
    """The kernel that the text of a kernel says, which is this one."""
    text = print_kernel(kernel)
    found = parse_kernel(text)
    assert differences(kernel, found) == []
    assert print_kernel(found) == text
    return found


@pytest.mark.parametrize("name", NAMES)
def test_kernels_are_read_back(name):
    verify_kernel(read_back(kernel_of(name)))


@pytest.mark.parametrize("seed", range(150))
def test_random_kernels_are_read_back(seed):
    kernel = random_case(seed).kernel
    for changed in (kernel, simple := simplify_kernel(kernel), schedule_kernel(simple, GENERIC),
                    vectorise_kernel(simple, GENERIC)):
        read_back(changed)
    read_back(vectorise_kernel(random_kernel(seed)[0], GENERIC._replace(lanes=4)))


def test_differences_are_seen():
    """The comparison above would notice each of these."""
    text = print_kernel(parse_kernel(TEXT))
    for old, new in (("kernel k", "kernel l"), ("in x", "inout x"), ("f32[N]", "f64[N]"), ("< 4", "< 5"),
                     (" vector", ""), ("2*i + j", "2*j + i"), ("v1 = add(v0, v0)", "v1 = multiply(v0, v0)"),
                     ("0.5_f32", "-0.5_f32"), ("y[j] = v1", "y[j] = v0"), ("y[j] = v1", "y[j] add = v1"),
                     ("3*v3", "4*v3"), (" if v2", ""), ("check v2 else 1", "check v2 else 2"), ("index j", "index i"),
                     ("= v1, v0", "= v0, v1"), ("N//100", "N//101"), ("+ 99", "+ 98")):
        assert old in text
        changed = text.replace(old, new)
        if new == "f64[N]":
            changed = changed.replace("_f32", "_f64")
        assert differences(parse_kernel(text), parse_kernel(changed)) != [], (old, new)


def place(address: Address) -> str:
    """The text of an address in two loops."""
    x, load = Buffer("x", float32, 100, "in"), Load(Variable(float32), Buffer("x", float32, 100, "in"), address)
    kernel = Kernel("k", (x,), (For(I, 9, (For(J, 9, (Load(load.result, x, address),)),)),))
    return print_kernel(read_back(kernel)).splitlines()[-1].partition("[")[2][:-1]


@pytest.mark.parametrize("address", [
    Address(0), Address(-3), Address(7, ((I, 1),)), Address(0, ((I, -1), (J, -2))),
    Address(index(0) // 4), Address(index(0) * 2 + 1), Address(-index(1) % 3 - 2, ((I, 5),)),
    Address(dim_min(index(0), 3) * 2 - dim_max(index(1), 1, 2), ((J, 1),)),
    Address(0, ((I, 0),)), Address(5, (), ((1, Literal(2, int64)),)), Address(-1, (), ((-1, Literal(2, int64)),)),
    Address(0, ((J, 1),), ((1, Literal(-2, int64)), (-1, Literal(-3, int64)), (4, Literal(-5, int64))))])
def test_addresses_are_read_back(address):
    place(address)


def test_addresses_over_symbols_are_read_back():
    x = Buffer("x", float32, N * M, "in")
    for address in (Address(N - 1, ((I, -1),)), Address(-N - 1, ((I, N + 1),)), Address(0, ((I, -N),)),
                    Address(N // 2 * M, ((I, N * M),)), Address((N + 1) // 2 * M - N * (M // 3), ((I, N // 2),)),
                    Address(N * index(0) // M, ((I, M),)), Address(N * N + M, ((I, N * N),))):
        read_back(Kernel("k", (x,), (For(I, dim_min(N, M), (Load(Variable(float32), x, address),)),)))


NUMBERS = [0.0, -0.0, 1.5, -0.1, 1e-45, 3.4e38, 1e22, float("inf"), float("-inf"), float("nan"), -float("nan")]


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_literals_are_read_back_with_all_their_bits(dtype):
    numbers: list = [0, 1, -1] if dtype.is_integer else [True, False] if dtype is bool_ else [*NUMBERS, 3]
    if dtype.is_complex:
        numbers = [complex(re, im) for re in NUMBERS for im in NUMBERS]
    y = Buffer("y", dtype, len(numbers), "out")
    read_back(Kernel("k", (y,), tuple([Store(y, Address(place), Literal(number, dtype))
                                       for place, number in enumerate(numbers)])))


@pytest.mark.parametrize("order", ["", " order 1, 512", " order 8, 64 as memory 4", " order 1, 64, 8",
                                   " order 64, 4096, 1"])
def test_the_order_of_a_reduction_is_read_back(order):
    text = f"kernel k():\n  v0 = reduce add over i < 9{order}:\n    give 1.0_f32\n"
    kernel = parse_kernel(text)
    assert print_kernel(read_back(kernel)) == text
    assert (kernel.body[0].order == DEFAULT_ORDER) == (order == "")


def test_what_a_reduction_starts_from_is_read_back():
    text = """
kernel k(in x: f32[8], out y: f32[2]):
  v0 = x[7]
  v1, v2 = reduce add, maximum from v0, 2.0_f32 over i < 3 order 1, 4096, 1 as chain:
    v3 = x[i]
    give v3, v3
  y[0] = v1
  y[1] = v2
""".lstrip()
    kernel = parse_kernel(text)
    assert print_kernel(read_back(kernel)) == text
    assert kernel.body[1].start == (kernel.body[0].result, Literal(2.0, float32))


def test_a_literal_has_the_number_that_is_written():
    kernel = parse_kernel("kernel k(out y: c64[1]):\n  y[0] = complex(-0.0, nan)_c64\n")
    assert kernel.body[0].value == Literal(complex(-0.0, float("nan")), complex64)
    kernel = parse_kernel("kernel k(out y: f64[1]):\n  y[0] = 1e-05_f64\n")
    assert kernel.body[0].value == Literal(1e-05, float64)


TEXT = """
# names of any kind, blank lines, comments
kernel k(in x: f32[N], in rows: i64[4], inout y: f32[40]):
  symbol N:9..

  for row < 4 parallel vector:
    for column < 2:
      # what is read
      element = x[2*row + column]
      sum = add(element, element)
      inside = less(element, 0.5_f32)
      place = rows[row]
      check inside else 1, place
      column_number = index column
      prefetch x[2*row + 8*place + 99]
      y[column] = sum
      y[row + 3*place + 1] = sum if inside
      y[2*row] = sum, element streaming min(N//100, 1)
"""


def test_names_are_free():
    text = print_kernel(parse_kernel(TEXT))
    assert text.splitlines()[3:5] == ["    for j < 2:", "      v0 = x[2*i + j]"]
    assert text.splitlines()[-2:] == [
        "      y[i + 3*v3 + 1] = v1 if v2", "      y[2*i] = v1, v0 streaming min(N//100, 1)"]


def test_spaces_mean_nothing_inside_of_a_line():
    head = "kernel k( in x:f32[ N ],out y :f32[N] ) :\n  symbol  N\n  for i<N  vector :\n"
    text = f"{head}    a=x[ i-1 ]\n    y[i+N*2 - 1]=a\n"
    assert print_kernel(parse_kernel(text)).splitlines()[3:] == ["    v0 = x[i - 1]", "    y[i + 2*N - 1] = v0"]


# -- errors --------------------------------------------------------------------------------------------------

HEAD = "kernel k(in x: f32[12], inout y: f32[12]):\n"
LOOP = HEAD + "  for i < 12:\n"
REDUCE = HEAD + "  v0 = reduce add over i < 12:\n    v1 = x[i]\n"
FOLD = HEAD + "  v0 = fold over i < 12:\n    v1 = x[i]\n    give v1\n"

ERRORS = [
    ("", "line 1: there is no kernel", "kernel name(buffers):"),
    ("function f() {", "line 1: kernel is missing", "kernel"),
    ("kernel k:", "line 1: ( is missing", "("),
    ("kernel k(in x: f32[12]", "line 1: ) is missing", ")"),
    ("kernel k(in x: f32[12])", "line 1: : is missing", ":"),
    ("kernel k(in x: f31[12]):", "line 1: this is not an element type", "a type such as nv.float32"),
    ("kernel k(in x: f32[N]):", "line 1: there is no symbol or loop index N",
     "a line 'symbol N' before the statements, or a loop over it"),
    ("kernel k(in x: f32[3*]):", "line 1: this dimension ends too early", "an operand"),
    ("kernel k(in x: f32[3], out x: f32[3]):", "line 1: x is there already", "a new name"),
    ("kernel k():\n  symbol N:3", "line 2: this does not declare a symbol", "N, N:1..4096, N:1.. or N:.."),
    ("kernel k():\n  symbol N\n  symbol N", "line 3: N is there already", "a new name"),
    (HEAD + "for i < 12:", "line 2: this line is in no loop", "2 spaces before a statement"),
    (LOOP + "     v0 = x[i]", "line 3: this line is in no loop", "2 spaces before a statement"),
    (LOOP + "    v0 = x[j]", "line 3: there is no symbol or loop index j",
     "a line 'symbol j' before the statements, or a loop over it"),
    (LOOP + "    v0 = x[i", "line 3: an address has no end", "]"),
    (LOOP + "    v0 = x[3*i - i]", "line 3: an address has two steps of i", "one of each index"),
    (LOOP + "    v0 = z[i]", "line 3: there is no buffer z", "a buffer that is known here"),
    (LOOP + "    v0 = x[i] if", "line 3: something stands after the end", "the end of the line"),
    (LOOP + "    y[i] = v0", "line 3: there is no variable v0", "a variable that is known here"),
    (LOOP + "    y[i] = 1.0", "line 3: a variable or a literal such as 1.5_f32 is missing",
     "a variable or a literal such as 1.5_f32"),
    (LOOP + "    y[i] = 1.0_f31", "line 3: this is not an element type", "a type such as nv.float32"),
    (LOOP + "    y[i] sub = 1.0_f32", "line 3: = is missing", "="),
    (LOOP + "    v0 = x[i]\n    v0 = x[i]", "line 4: v0 is there already", "a new name"),
    (LOOP + "    v0 = x[i]\n    v1 = plus(v0, v0)", "line 4: there is no function plus",
     "a function of scalars, and operands that it takes"),
    (LOOP + "    v0 = x[i]\n    v1 = add(v0)", "line 4: add takes 2 operands, not 1",
     "a function of scalars, and operands that it takes"),
    (LOOP + "    v0 = x[i]\n    v1 = add(v0, 1_i64)", "line 4: add takes operands of one type, not float32, int64",
     "a function of scalars, and operands that it takes"),
    (LOOP + "    v0 = x[i]\n    v1 = convert(v0)", "line 4: an element type such as f32 is missing",
     "an element type such as f32"),
    (LOOP + "    v0, v1 = x[i]", "line 3: only reductions and folds define several variables", "reduce or fold"),
    (LOOP + "    for i < 3:", "line 3: i is there already", "a new name"),
    (LOOP + "    check True, 3", "line 3: else is missing", "else"),
    (HEAD + "  for i 12:", "line 2: < is missing", "<"),
    (HEAD + "  for i < 12, j < 3:", "line 2: a loop has one index", None),
    (HEAD + "  for i < 12 scalar:", "line 2: this is not an operator", "one of + - * // % ** , )"),
    (HEAD + "  for i < 12 vector tile 64 8:", "line 2: lanes is missing", "lanes"),
    (HEAD + "  v0 = reduce add over i < 12 as usual:",
     "line 2: one of unrolled, stages, vector, registers, parts, memory, chain is missing",
     "one of unrolled, stages, vector, registers, parts, memory, chain"),
    (HEAD + "  v0 = reduce plus over i < 12:", "line 2: one of add, multiply, maximum, minimum, and, or is missing",
     "one of add, multiply, maximum, minimum, and, or"),
    (REDUCE, "line 3: a reduction gives nothing", "give, 4 spaces from the left"),
    (REDUCE + "  give v1", "line 4: a reduction gives nothing", "give, 4 spaces from the left"),
    (REDUCE + "    give v1, v1", "line 2: the lists of a reduction differ in length", 2),
    (FOLD, "line 2: a fold does not say how it combines", "combine (...), (...): after it"),
    (FOLD + "  combine (v2, v3):", "line 5: the lists of a reduction differ in length", 1),
    (FOLD + "  combine (v2), v3:", "line 5: ( is missing", "("),
]


def test_loops_of_strips_are_read_back():
    text = "kernel k(in x: f32[9], out y: f32[9]):\n  for i < 9 by j <= 4 parallel:\n    for k < j vector:\n" \
           "      v0 = x[i + k]\n      y[i + k] = v0\n"
    assert print_kernel(read_back(parse_kernel(text))) == text


@pytest.mark.parametrize(("text", "problem", "expected"), ERRORS, ids=[problem for _, problem, _ in ERRORS])
def test_what_is_no_kernel_is_an_error_of_its_line(text, problem, expected):
    with pytest.raises(FormatError) as raised:
        parse_kernel(text)
    assert raised.value.message == problem
    assert str(raised.value.expected) == str(expected)


def test_loops_stand_only_so_deep():
    lines = [f"{'  ' * depth}  for i{depth} < 2:\n" for depth in range(MAX_DEPTH + 1)]
    assert parse_kernel("kernel k():\n" + "".join(lines[:-1])).body
    with pytest.raises(FormatError, match="loops stand too deep"):
        parse_kernel("kernel k():\n" + "".join(lines))


def test_any_text_is_a_kernel_or_an_error():
    """Texts that were right before a few characters were lost, added or repeated."""
    numbers, texts = random.Random(0), [print_kernel(random_case(seed).kernel) for seed in range(40)]
    read = 0
    for _ in range(1500):
        text = numbers.choice(texts)
        for _ in range(numbers.choice((1, 1, 2))):
            at, start = numbers.randrange(len(text)), numbers.randrange(len(text))
            added = numbers.choice(("", text[start:start + 9], numbers.choice("()[]:,<=+-*%\n_9\"")))
            text = text[:at] + added + text[at + (not added):]
        try:
            kernel = parse_kernel(text)
        except FormatError as error:
            assert error.message.startswith("line ")
        else:
            read_back(kernel)
            read += 1
    assert 50 < read < 750

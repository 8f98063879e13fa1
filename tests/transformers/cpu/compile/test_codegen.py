"""Kernels as machine code: every element type and step, checks, guarded reads, scattered writes, the text itself."""

from __future__ import annotations

import re

import numpy as np
import pytest

import nervure as nv
from nervure.errors import InternalError
from nervure.kernel.ir import (
    Address,
    Apply,
    Buffer,
    Check,
    For,
    Index,
    InterleavedStore,
    Kernel,
    Literal,
    Load,
    Reduce,
    Statement,
    Store,
    Variable,
)
from nervure.kernel.loop_index import LoopIndex
from nervure.kernel.parser import parse_kernel
from nervure.kernel.plan import make_plan
from nervure.kernel.printer import print_kernel
from nervure.passes.pipelines import standard
from nervure.transformers.cpu.compile.codegen.generate import generate
from nervure.transformers.cpu.compile.codegen.statements import FAILED
from nervure.transformers.cpu.compile.compiler import assembly, compile_object
from nervure.transformers.cpu.target import Target
from nervure.types.dim import DimLike, dim, evaluate, index
from nervure.types.dtype import (
    DType,
    all_dtypes,
    bfloat16,
    bool_,
    complex64,
    float32,
    float64,
    int8,
    int32,
    int64,
    uint32,
)
from tests.arrays import guarded
from tests.kernel.block import I, J
from tests.transformers.cpu.running import check, least_bytes, run

SIZES = (0, 1, 7, 8, 9, 31, 33, 63, 64, 65, 300)
WIDTHS = (4, 8, 16, 32, 64)
N, M = dim("N"), dim("M")


def at(*steps: tuple[LoopIndex, DimLike], base: DimLike = 0) -> Address:
    return Address(base, steps)


def some(dtype: DType, size: int, seed: int = 0) -> np.ndarray:
    """Random bits of any type."""
    random = np.random.default_rng(seed)
    if dtype is bool_:
        return random.integers(0, 2, size).astype(bool)
    if dtype.bits < 8:
        return random.integers(0, dtype.maximum, size, endpoint=True).astype(dtype.numpy)
    if dtype.itemsize <= 2 or dtype.is_integer:
        return random.integers(0, 256, size * dtype.itemsize, np.uint8).view(dtype.numpy)
    numbers = random.standard_normal(size)
    return (numbers + 1j * random.standard_normal(size) if dtype.is_complex else numbers).astype(dtype.numpy)


def loop(extent: DimLike, *body: Statement, index: LoopIndex = I, vector: bool = True, parallel: bool = True) -> For:
    return For(index, extent, body, parallel=parallel, vector=vector)


def copy(dtype: DType, step: int, size: DimLike = N) -> Kernel:
    """y[step * k] = x[step * k], from the end where the step is negative."""
    reach = abs(step) * (size - 1) + 1
    x, y, element = Buffer("x", dtype, reach, "in"), Buffer("y", dtype, reach, "inout"), Variable(dtype)
    place = at((I, step), base=reach - 1 if step < 0 else 0)
    return Kernel("copy", (x, y), (loop(size, Load(element, x, place), Store(y, place, element)),))


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_every_type_moves_at_every_step(dtype: DType) -> None:
    for number, step in enumerate((1, -1, 2, 3, 4, 5, -3)):
        for size in SIZES[1:]:
            reach = abs(step) * (size - 1) + 1
            arrays = {"x": some(dtype, reach), "y": some(dtype, reach, 1)}
            check(copy(dtype, step), arrays, {"N": size}, WIDTHS[(number + size) % len(WIDTHS)], (64,))


@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_every_type_goes_past_the_caches(dtype: DType) -> None:
    """Where the size is one of a large result, whole rows that are aligned; cuts make rows that are not."""
    for step in (1, -1):
        kernel = copy(dtype, step)
        for number, size in enumerate(SIZES):
            arrays = {"x": some(dtype, size), "y": some(dtype, size, 1)}
            check(kernel, arrays, {"N": size}, (32, 64)[number % 2], ((), (1, 64), (64,))[number % 3], past=150)
        text = generate(kernel, Target.avx2(), least_bytes(kernel, 150)).text
        assert "select i1" in text and "i64 -1, i64 31" in text and "nontemporal" in text and "sfence" in text


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("streaming", [0, 2 * N], ids=str)
@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_rows_of_every_type_are_interleaved(dtype: DType, streaming: DimLike, count: int) -> None:
    """Two to four rows become one of as many times the lanes, in the caches and past them; the last lanes are fewer."""
    rows = [Buffer(f"x{row}", dtype, N, "in") for row in range(count)]
    whole, elements = Buffer("z", dtype, count * N, "inout"), tuple([Variable(dtype) for _ in rows])
    kernel = Kernel("rows", (*rows, whole), (loop(
        N, *[Load(element, row, at((I, 1))) for element, row in zip(elements, rows, strict=True)],
        InterleavedStore(whole, at((I, count)), elements, streaming)),))
    for number, size in enumerate(SIZES):
        arrays = {row.name: some(dtype, size, place) for place, row in enumerate(rows)}
        arrays["z"] = some(dtype, count * size, count)
        check(kernel, arrays, {"N": size}, WIDTHS[number % len(WIDTHS)], (64,))


def test_whether_memory_is_large_is_known_of_a_number() -> None:
    small, large = copy(float32, 1, 100), copy(float32, 1, 101)
    texts = [generate(kernel, Target.avx2(), least_bytes(kernel, 401)).text for kernel in (small, large)]
    assert ["nontemporal" in text for text in texts] == [False, True]
    assert texts[0] == generate(small, Target.avx2()).text


def test_what_a_kernel_reads_again_stays_in_the_caches() -> None:
    x, y, element, again = Buffer("x", float32, 99, "in"), Buffer("y", float32, 99, "inout"), *[
        Variable(float32) for _ in range(2)]
    place = at((I, 1))
    kernel = Kernel("again", (x, y), (loop(
        99, Load(element, x, place), Store(y, place, element), Load(again, y, place)),))
    assert "nontemporal" not in generate(kernel, Target.avx2(), {y: 0}).text


@pytest.mark.parametrize("step", [1, 2, 3, 5])
@pytest.mark.parametrize("dtype", all_dtypes, ids=str)
def test_a_read_with_a_condition_reads_nothing_where_it_is_false(dtype: DType, step: int) -> None:
    """Elements of a row, and what would be before and behind it: nothing outside of the buffer is read, nor seen."""
    x, y = Buffer("x", dtype, step * N, "in"), Buffer("y", dtype, N + 4, "out")
    low, high, inside = Variable(bool_), Variable(bool_), Variable(bool_)
    place, size, element = Variable(int64), Variable(int64), Variable(dtype)
    kernel = Kernel("pad", (x, y), (loop(
        N + 4, Index(place, step * index(0) - 2), Index(size, step * N),
        Apply(low, "less_equal", (Literal(0, int64), place)), Apply(high, "less", (place, size)),
        Apply(inside, "bitwise_and", (low, high)),
        Load(element, x, at((I, step), base=-2), inside, Literal(1, dtype)),
        Store(y, at((I, 1)), element)),))
    for number in SIZES:
        arrays = {"x": some(dtype, step * number), "y": some(dtype, number + 4, 1)}
        check(kernel, arrays, {"N": number}, WIDTHS[number % 5])


@pytest.mark.parametrize("text", ["4*j + 1", "j//3 + 4", "i*j + i"])
def test_a_loop_of_one_iteration_says_nothing_about_the_next_loop_of_its_index(text: str) -> None:
    kernel = parse_kernel(f"""
kernel once(out y: i64[4], out z: i64[32]):
  symbol N:0..1
  for i < 4 parallel:
    for j < N:
      v0 = index {text}
      y[i] = v0
    for j < 8:
      v1 = index {text}
      z[8*i + j] = v1
""")
    for number in (0, 1):
        check(kernel, {"y": np.zeros(4, np.int64), "z": np.zeros(32, np.int64)}, {"N": number}, 32)


def gather(check_rows: bool) -> Kernel:
    """y[i, j] = x[rows[i], j] where the row exists, else 0."""
    x, rows = Buffer("x", float32, N * M, "in"), Buffer("rows", int32, 50, "in")
    y, row, element = Buffer("y", float32, 50 * M, "out"), Variable(int32), Variable(float32)
    last, above, below, inside = Variable(int64), Variable(bool_), Variable(bool_), Variable(bool_)
    wide = Variable(int64)
    checks: tuple[Statement, ...] = (Check(inside, 7, row),) if check_rows else ()
    return Kernel("gather", (x, rows, y), (loop(
        50, Load(row, rows, at((I, 1))), Apply(wide, "convert", (row,)), Index(last, N),
        Apply(above, "less_equal", (Literal(0, int64), wide)), Apply(below, "less", (wide, last)),
        Apply(inside, "bitwise_and", (above, below)), *checks,
        loop(M, Load(element, x, Address(0, ((J, 1),), ((M, row),)), inside, Literal(0.0, float32)),
             Store(y, at((I, M), (J, 1)), element), index=J, parallel=False), vector=False),))


def gather_arrays(*wrong: tuple[int, int]) -> dict[str, np.ndarray]:
    rows = np.arange(50, dtype=np.int32) % 20
    for place, row in wrong:
        rows[place] = row
    return {"x": some(float32, 20 * 13), "rows": rows, "y": some(float32, 50 * 13, 1)}


def test_gathered_rows() -> None:
    check(gather(False), gather_arrays((3, 10**9), (44, -1)), {"N": 20, "M": 13}, WIDTHS, (7, 8))


def test_a_check_reports_the_first_failure_and_the_kernel_goes_on() -> None:
    arrays = gather_arrays((31, 20), (44, -5))
    status = run(gather(True), arrays, {"N": 20, "M": 13}, 32, (40,))
    assert (status.code, status.op, status.position, status.value) == (FAILED, 7, 31, 20)
    assert not arrays["y"][31 * 13:32 * 13].any() and arrays["y"][30 * 13:31 * 13].all()
    assert run(gather(True), gather_arrays(), {"N": 20, "M": 13}).code == 0


def positive() -> Kernel:
    x, element, holds = Buffer("x", int32, N * M, "in"), Variable(int32), Variable(bool_)
    return Kernel("positive", (x,), (loop(N, loop(
        M, Load(element, x, at((I, M), (J, 1))), Apply(holds, "less", (Literal(-1, int32), element)),
        Check(holds, 3, element), index=J, parallel=False), vector=False),))


@pytest.mark.parametrize("width", WIDTHS)
def test_checks_in_lanes_fail_where_the_first_lane_does(width: int) -> None:
    for place in (0, 5, 38, 39, 76):
        numbers = np.arange(77, dtype=np.int32)
        numbers[place], numbers[76] = -1 - place, -77
        status = run(positive(), {"x": numbers}, {"N": 7, "M": 11}, width)
        assert (status.code, status.op, status.position, status.value) == (FAILED, 3, place, -1 - place)
    # Lanes past the end of a row see zeros, or the next row, and must not fail for it.
    assert run(positive(), {"x": np.arange(77, dtype=np.int32)}, {"N": 7, "M": 11}, width).code == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_a_check_of_what_all_lanes_share_fails_in_the_first(width: int) -> None:
    """A row of eleven is whole registers and a rest: neither makes another of it."""
    x, element, holds = Buffer("x", int32, N, "in"), Variable(int32), Variable(bool_)
    kernel = Kernel("shared", (x,), (loop(
        N, Load(element, x, at((I, 1))), Apply(holds, "less", (Literal(-1, int32), element)),
        loop(M, Check(holds, 3, element), index=J, parallel=False), vector=False),))
    numbers = np.arange(7, dtype=np.int32)
    assert run(kernel, {"x": numbers}, {"N": 7, "M": 11}, width).code == 0
    for place in (0, 4, 6):
        numbers = np.arange(7, dtype=np.int32)
        numbers[place] = -5
        for length in (1, 11, 64):
            status = run(kernel, {"x": numbers}, {"N": 7, "M": length}, width)
            assert (status.code, status.op, status.position, status.value) == (FAILED, 3, place * length, -5)


@pytest.mark.parametrize("dtype", [float32, int32, uint32], ids=str)
def test_scattered_sums_take_every_lane_in_order(dtype: DType) -> None:
    """Sixteen places take 300 numbers, many of them from one register."""
    x, places, y = Buffer("x", dtype, N, "in"), Buffer("places", int64, N, "in"), Buffer("y", dtype, 16, "inout")
    element, place = Variable(dtype), Variable(int64)
    kernel = Kernel("scatter", (x, places, y), (loop(
        N, Load(element, x, at((I, 1))), Load(place, places, at((I, 1))),
        Store(y, Address(0, (), ((1, place),)), element, combine="add")),))
    for size in SIZES:
        arrays = {"x": some(dtype, size), "places": np.random.default_rng(size).integers(0, 16, size),
                  "y": some(dtype, 16)}
        check(kernel, arrays, {"N": size}, WIDTHS)


def test_a_loaded_number_is_read_again_after_a_store_into_its_buffer() -> None:
    """total[0] grows in the inner loop and is read there: the read may not move in front of the loop."""
    x, total, y = Buffer("x", float32, 30, "in"), Buffer("total", float32, 1, "inout"), Buffer("y", float32, 30, "out")
    element, before, after = Variable(float32), Variable(float32), Variable(float32)
    kernel = Kernel("running", (x, total, y), (loop(5, loop(
        6, Load(element, x, at((I, 6), (J, 1))), Load(before, total, at()),
        Apply(after, "add", (before, element)), Store(total, at(), after),
        Store(y, at((I, 6), (J, 1)), after), index=J, parallel=False, vector=False),
        vector=False, parallel=False),))
    check(kernel, {"x": some(float32, 30), "total": np.ones(1, np.float32), "y": some(float32, 30)})


def test_nothing_is_read_for_loops_without_turns() -> None:
    """The inner loop's buffer is empty: its element 0, which the loop would read in each turn, is not there."""
    x, y, z = Buffer("x", float32, M, "in"), Buffer("y", float32, N, "inout"), Buffer("z", float32, N * M, "out")
    element, other = Variable(float32), Variable(float32)
    kernel = Kernel("empty", (x, y, z), (loop(
        N, loop(M, Load(element, x, at()), Store(z, at((I, M), (J, 1)), element), index=J, parallel=False),
        Load(other, y, at((I, 1))), Store(y, at((I, 1)), other), vector=False),))
    arrays = {"x": np.empty(0, np.float32), "y": some(float32, 5), "z": np.empty(0, np.float32)}
    check(kernel, arrays, {"N": 5, "M": 0})
    null = {**arrays, "x": np.frombuffer(b"", np.float32)}
    assert run(kernel, null, {"N": 5, "M": 0}).code == 0


def rows(sizes: tuple[DimLike, DimLike], names: str = "xys") -> Kernel:
    """Each row doubled into scratch memory, its sum, and the row over that."""
    n, m = sizes
    x, y = Buffer(names[0], float32, n * m, "in"), Buffer(names[1], float32, n * m, "out")
    row = Buffer(names[2], float32, m, "scratch")
    first, double, one, total, two, quotient = [Variable(float32) for _ in range(6)]
    place, here = at((I, m), (J, 1)), at((J, 1))
    return Kernel("rows", (x, y, row), (loop(
        n, loop(m, Load(first, x, place), Apply(double, "add", (first, first)), Store(row, here, double), index=J,
                parallel=False),
        Reduce((total,), ("add",), ((J, m),), (Load(one, row, here),), (one,)),
        loop(m, Load(two, row, here), Apply(quotient, "divide", (two, total)), Store(y, place, quotient), index=J,
             parallel=False), vector=False),))


def test_rows_pass_through_scratch_memory() -> None:
    for n, m in ((3, 1), (4, 9), (5, 70), (2, 5000)):
        arrays = {"x": some(float32, n * m), "y": some(float32, n * m, 1)}
        widths = WIDTHS[:2 if m > 100 else None]
        check(rows((N, M), "xys"), arrays | {"s": np.empty(0, np.float32)}, {"N": n, "M": m}, widths, (1, 2))


def test_loops_of_one_index_know_nothing_of_each_other() -> None:
    """One of them has a turn or none; in the other one the same expression has another value."""
    kernel = parse_kernel("""
kernel turns(in x: f32[14], out y: f32[14]):
  for i < 2:
    for j < min(i, 1):
      v0 = x[7*i + (3*j % 7)]
      y[7*i + (3*j % 7)] = v0
    for j < 7:
      v1 = x[7*i + (3*j % 7)]
      y[7*i + (3*j % 7)] = v1
""")
    check(kernel, {"x": some(float32, 14), "y": some(float32, 14, 1)}, {})


@pytest.mark.parametrize("dtype", [float32, complex64, bool_, bfloat16, int8], ids=str)
def test_every_lane_has_private_memory(dtype: DType) -> None:
    """Stored, stored and combined under a condition, and read under one."""
    kernel = parse_kernel(f"""
kernel turns(in x: {dtype.short}[N*3], in holds: bool[N], out y: {dtype.short}[N*3], private own: {dtype.short}[3]):
  symbol N
  for i < N parallel vector:
    v0 = holds[i]
    for j < 3:
      v1 = x[3*i + j]
      own[j] = v1
    v2 = x[3*i + 1]
    own[2] = v2 if v0
    for j < 3:
      v3 = own[-j + 2] if v0 else v2
      y[3*i + j] = v3
""")
    for n in (1, 5, 70):
        arrays = {"x": some(dtype, 3 * n), "holds": some(bool_, n), "y": some(dtype, 3 * n, 1)}
        check(kernel, arrays, {"N": n}, WIDTHS, (2,))


def test_private_numbers_are_combined_in_their_lanes() -> None:
    kernel = parse_kernel("""
kernel sums(in x: f32[N*9], out y: f32[N], private total: f32[2]):
  symbol N
  for i < N parallel vector:
    total[1] = 0.0_f32
    for j < 9:
      v0 = x[i + N*j]
      v1 = less(v0, 0.5_f32)
      total[1] add = v0 if v1
    v2 = total[1]
    y[i] = v2
""")
    check(kernel, {"x": some(float32, 630), "y": some(float32, 70)}, {"N": 70}, WIDTHS)


def test_short_rows_go_past_the_caches_where_they_share_no_line() -> None:
    """The answer is known when the kernel runs: rows of 16 floats end where a line does, rows of 17 do not."""
    kernel = Kernel("copies", *copies_of_rows())
    for n, m in ((5, 16), (5, 17), (9, 100), (3, 1024), (2, 1031)):
        arrays = {"x": some(float32, n * m), "y": some(float32, n * m, 1)}
        check(kernel, arrays, {"N": n, "M": m}, (32, 64), (1, 2), past=0)
    condition = generate(kernel, Target.avx2(), least_bytes(kernel, 0)).sizes[-1]
    assert [evaluate(condition, {"N": 9, "M": m}) for m in (16, 17, 48, 1023, 1024, 1031)] == [1, 0, 1, 0, 1, 1]


def copies_of_rows() -> tuple[tuple[Buffer, ...], tuple[Statement, ...]]:
    x, y, element = Buffer("x", float32, N * M, "in"), Buffer("y", float32, N * M, "out"), Variable(float32)
    place = at((I, M), (J, 1))
    body = loop(M, Load(element, x, place), Store(y, place, element), index=J, parallel=False)
    return (x, y), (loop(N, body, vector=False),)


def columns(n: DimLike, m: DimLike) -> Kernel:
    """y[i, j] = x[i, j] - the greatest of column j, row after row of a tile."""
    x, y = Buffer("x", float32, n * m, "in"), Buffer("y", float32, n * m, "out")
    first, most, again, difference = [Variable(float32) for _ in range(4)]
    place = at((J, m), (I, 1))
    rows = For(J, n, (
        Load(again, x, place), Apply(difference, "subtract", (again, most)), Store(y, place, difference)))
    reduce = Reduce((most,), ("maximum",), ((J, n),), (Load(first, x, place),), (first,))
    return Kernel("columns", (x, y), (loop(m, reduce, rows),))


def test_loops_over_rows_inside_of_a_tile() -> None:
    for n, m in ((1, 5), (0, 5), (70, 1), (5, 33), (17, 5000), (4100, 3)):
        arrays = {"x": some(float32, n * m), "y": some(float32, n * m, 1)}
        check(columns(N, M), arrays, {"N": n, "M": m}, (8, 32, 64), (2, 40))


def test_no_store_is_masked_where_all_lanes_are_written() -> None:
    """"The greater of what is there and x" would become a masked store: slow on some processors."""
    text = assembly(generate(columns(N, M), Target.avx2()).text, Target.avx2())
    stores = re.findall(r"vmaskmovps\s+%ymm\d+, %ymm\d+, .*", text)
    assert "vmaxps" in text and len(stores) == 1  # of the last columns of y


def test_the_text_tells_structure_alone() -> None:
    length, third = dim("L", min=1, max=4096), dim("K", min=1, max=1000)
    codes = [generate(rows(sizes, names), Target.avx2())
             for sizes, names in (((20, 130), "xys"), ((N, length), "abc"), ((1000, third * 3), "xyz"))]
    assert codes[0].text == codes[1].text == codes[2].text
    assert [code.sizes for code in codes[:2]] == [(130,), (length,)]
    assert codes[1].scratch_bytes == ((length + 64) * 4 + 63) // 64 * 64
    assert [buffer.name for buffer in codes[1].buffers] == ["a", "b"]
    assert generate(rows((N, M)), Target.avx2()).text != codes[0].text
    assert generate(rows((20, 4097)), Target.avx2()).text != codes[0].text
    assert generate(rows((130, 130)), Target.avx2()).text == codes[0].text
    assert generate(rows((20, 1)), Target.avx2()).text != codes[0].text
    assert generate(rows((20, 130)), Target.avx512()).text != codes[0].text


def test_the_text_tells_how_long_short_rows_are() -> None:
    texts = [generate(rows(sizes), Target.avx2()).text for sizes in ((20, 30), (30, 30), (20, 31))]
    assert texts[0] == texts[1] != texts[2]


def test_avx512_kernels_compile_to_full_vectors() -> None:
    code = generate(rows((N, M)), Target.avx512())
    assert "%zmm" in assembly(code.text, Target.avx512()) and compile_object(code.text, Target.avx512())


ROOMY = """
kernel rows(scratch one: f32[64]):
  for i < 4:
    for j < 100 vector:
      one[{step}*i + j] = 0.0_f32
"""


def test_rows_with_room_are_written_by_one_loop_without_a_mask():
    with_room, without = [generate(parse_kernel(ROOMY.format(step=step)), Target.avx512()).text for step in (112, 100)]
    assert "masked.store" in without and "masked.store" not in with_room
    assert without.count("store <16 x float>") == with_room.count("store <16 x float>") == 1


PREFETCHED = """
kernel prefetched(in x: f64[N], out y: f64[N]):
  symbol N
  for i < N vector:
    v0 = x[i]
    y[i] = v0
    prefetch x[i + 1000]
"""


def test_a_prefetch_asks_for_each_line_that_the_lanes_will_read() -> None:
    """16 elements of eight bytes at once are two lines; what is left, four at once or fewer, is one."""
    text = generate(parse_kernel(PREFETCHED), Target.avx2()).text
    assert text.count("call void @llvm.prefetch.p0") == 2 + 1 + 1
    arrays = {"x": some(float64, 77), "y": some(float64, 77, 1)}
    check(parse_kernel(PREFETCHED), arrays, {"N": 77}, WIDTHS)


def test_a_reduction_in_another_order_is_refused() -> None:
    text = "kernel chain(in x: f32[99], out y: f32[1]):\n  v0 = reduce add over i < 99 order 1, 512:\n" \
           "    v1 = x[i]\n    give v1\n  y[0] = v0\n"
    with pytest.raises(InternalError, match=r"no code for a reduction in Order\(lanes=1, block=512, group=64\)"):
        generate(parse_kernel(text), Target.avx2())


@pytest.mark.parametrize(("fill", "is_selected"), [("0.0_f32", False), ("1.0_f32", True), ("-0.0_f32", True)])
def test_what_a_mask_leaves_out_is_zero_already(fill: str, is_selected: bool) -> None:
    kernel = parse_kernel(f"""
kernel shifted(in x: f32[120], out y: f32[120]):
  for i < 4 parallel:
    for j < 30 vector:
      v0 = index j - 1
      v1 = less_equal(0_i64, v0)
      v2 = x[30*i + j - 1] if v1 else {fill}
      y[30*i + j] = v2
""")
    x = np.arange(120, dtype=np.float32) - 60
    for target in (Target.avx2(), Target.avx512()):
        check(kernel, {"x": x, "y": np.zeros(120, np.float32)}, {}, target.vector_bytes)
        assert ("select" in generate(kernel, target).text) is is_selected


def test_a_mask_of_a_loop_is_made_before_it() -> None:
    """The lanes that are left and whose condition holds: LLVM would make the mask again at each use in the loop."""
    text = generate(parse_kernel("""
kernel masked(in x: f32[N], in y: f32[M*N], inout z: f32[M*N]):
  symbol M
  symbol N
  for i < N vector:
    v0 = x[i]
    v1 = less(0.0_f32, v0)
    for j < M:
      v2 = y[i + N*j] if v1 else 1.0_f32
      z[i + N*j] = v2
"""), Target.avx2()).text
    made, = re.findall(r"(%\w+) = and <8 x i1>", text)
    hidden, = re.findall(rf"(%\w+) = freeze <8 x i1> {made}\n", text)
    assert len(re.findall(rf"{made}\b", text)) == 2 and len(re.findall(rf"{hidden}\b", text)) == 2
    assert not re.findall(r"freeze <\d+ x i64>", text)


@pytest.mark.parametrize("target", [Target.avx2(), Target.avx512()], ids=["avx2", "avx512"])
def test_a_row_outside_of_memory_is_not_looked_for_there(target) -> None:
    """Where its condition is known, outside of the loop over the row: masked loads of no lane are slow there."""
    kernel = parse_kernel("""
kernel above(in x: f32[N*M], out y: f32[N*M]):
  symbol N
  symbol M
  for i < M:
    v0 = index i - 1
    v1 = less_equal(0_i64, v0)
    for j < N vector:
      v2 = x[N*i + j - N] if v1 else 0.0_f32
      y[N*i + j] = v2
""")
    text = generate(kernel, target).text
    loop = re.compile(r"masked\.load|maskload").search(text, text.index("define")).start()
    chosen = re.findall(r"select i1 %\w+, ptr %\w+, ptr %\w+", text)
    assert chosen and all([text.index(entry) < loop for entry in chosen])
    rng = np.random.default_rng(0)
    for n, m in ((1, 3), (16, 1), (37, 4), (100, 2)):
        check(kernel, {"x": rng.standard_normal(n * m).astype(np.float32), "y": np.zeros(n * m, np.float32)},
              {"N": n, "M": m}, target.vector_bytes)


@pytest.mark.parametrize("dtype", [nv.uint8, nv.int16, nv.float16], ids=str)
def test_lanes_that_avx2_has_no_masks_for_are_tested_in_one_place(dtype):
    """Else LLVM took seconds: it makes a block of code for each lane of each load."""
    x = nv.Parameter(dtype, (16, 4))
    step, = make_plan(standard(nv.Function([nv.ops.Max(x, [0])], [x]))).steps
    text = generate(step.kernel, Target.avx2()).text
    assert len(re.findall(r"call .*@read_v64\w+\(", text)) >= 16
    assert len(re.findall(r"call .*@llvm.masked.load", text)) == 1


def test_rows_that_fill_vectors_have_no_code_for_a_last_one():
    def text(length: int | str) -> str:
        return generate(parse_kernel(f"""
kernel negatives(in x: f32[5*{length}], out y: f32[5*{length}]):
  symbol N
  for i < 5 parallel:
    for j < {length} vector:
      v0 = x[{length}*i + j]
      v1 = negative(v0)
      y[{length}*i + j] = v1
"""), Target.avx2()).text

    assert text(1024) == text(4096) and text(1001) == text(4097) and text(1024) != text(1001)
    assert ["masked" in text(length) for length in (1024, 1001, "N")] == [False, True, True]


def test_loops_shorter_than_a_vector_have_no_code_for_a_whole_one():
    code = generate(parse_kernel("""
kernel negatives(in x: f32[5*N], out y: f32[5*N]):
  symbol N
  for i < 5 parallel:
    for j < N % 5 vector:
      v0 = x[N*i + j]
      v1 = negative(v0)
      y[N*i + j] = v1
"""), Target.avx2())
    assert print_kernel(code.kernel).splitlines()[3].endswith("for j < N % 5 vector masked 8:")
    assert code.text.count("fneg") == 1


@pytest.mark.parametrize("numbers", [3, 6])
def test_a_function_of_many_numbers_is_written_once(numbers):
    terms = [f"  a{n} = x[{n}]\n  b{n} = power(0.9_f32, a{n})\n  c{n} = sin(a{n})\n  d{n} = less(b{n}, c{n})\n"
             f"  y[{n}] = b{n}\n  z[{n}] = c{n}\n  w[{n}] = d{n}\n" for n in range(numbers)]
    names = {f"{letter}{n}": f"v{4 * n + 'abcd'.index(letter)}" for n in range(numbers) for letter in "abcd"}
    body = re.sub(r"\b[abcd]\d\b", lambda found: names[found[0]], "".join(terms))
    kernel = parse_kernel(f"kernel powers(in x: f32[6], out y: f32[6], out z: f32[6], out w: bool[6]):\n{body}")
    x = np.array([0.0, -1.5, 2.0, np.nan, 1e30, -0.0], np.float32)
    check(kernel, {"x": x, **{name: np.zeros(6, np.float32) for name in "yz"}, "w": np.zeros(6, bool)})
    text = generate(kernel, Target.avx2()).text
    assert text.count("@power.f32(") == (0 if numbers == 3 else 1 + numbers)
    assert text.count("call float @sin.f32(") == (0 if numbers == 3 else numbers)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_lanes_outside_of_a_mask_that_is_known_are_not_read(cpu, step, dtype):
    """LLVM read all lanes of a second vector with a mask of which it knew that a half has none."""
    for length in (3, 9, 17, 33):
        x, *rows = [np.arange(size, dtype=dtype) for size in [(length - 1) * step + 1] * 3]
        x = np.stack([x, -x])

        def result(x, y, z, module):
            return module.max(x[:, ::step] * y[::step] + z[::step], axis=1)
        places = [nv.placeholder(array.shape, dtype=array.dtype) for array in (x, *rows)]
        found = nv.computation(result(*places, nv), *places, transformer=cpu)(*map(guarded, (x, *rows)))
        np.testing.assert_array_equal(found, result(x, *rows, np))

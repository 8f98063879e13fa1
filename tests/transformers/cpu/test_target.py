"""Targets: what is read from the system's description, what is cut, and what LLVM makes of it."""

from __future__ import annotations

import pytest

from nervure import flags
from nervure.errors import NotSupported
from nervure.support.product_tuning import ProductTuning
from nervure.transformers.cpu import target
from nervure.transformers.cpu.compile.compiler import assembly
from nervure.transformers.cpu.target import Target, read_target

AVX2 = "pni ssse3 sse4_1 sse4_2 avx avx2 fma f16c bmi1 bmi2 abm movbe popcnt cx16 xsave"
AVX512 = f"{AVX2} avx512f avx512bw avx512cd avx512dq avx512vl"
ADD = "define <16 x float> @f(<16 x float> %x) { %y = fadd <16 x float> %x, %x ret <16 x float> %y }"


def describe(instructions: str, model: int = 1) -> str:
    return (f"processor\t: 0\nvendor_id\t: Maker\ncpu family\t: 6\nmodel\t\t: {model}\nmodel name\t: A: 1\n"
            f"stepping\t: 2\nflags\t\t: fpu {instructions}\npower management:\n\n")


def test_the_widest_vectors_that_the_machine_has():
    found = [read_target(describe(text)) for text in (AVX512, AVX2, AVX512.replace("avx512dq", ""))]
    assert [(each.name, each.vector_bytes) for each in found] == [("avx512", 64), ("avx2", 32), ("avx2", 32)]
    assert not any(["avx512" in name for name in read_target(describe(AVX512.replace("avx512vl", ""))).features])


@pytest.mark.parametrize(("instructions", "has_one"), [
    (AVX2, False), (f"{AVX2} avx_vnni", True), (AVX512, False), (f"{AVX512} avx512_vnni", True)])
def test_one_instruction_adds_four_products_of_bytes(instructions, has_one):
    assert read_target(describe(instructions)).adds_products_of_bytes == has_one


def test_the_first_processor_counts():
    assert read_target(describe(AVX2) + describe(AVX512)) == read_target(describe(AVX2))


@pytest.mark.parametrize("missing", ["avx2", "fma", "f16c"])
def test_what_all_code_uses_must_be_there(missing):
    with pytest.raises(NotSupported) as caught:
        read_target(describe(" ".join([name for name in AVX2.split() if name != missing])))
    assert caught.value.got == f"no {missing}" and "interpreter" in caught.value.help


def test_instructions_that_round_otherwise_are_never_used():
    assert read_target(describe(f"{AVX512} avx512_bf16 avx512_fp16 amx_tile")) == read_target(describe(AVX512))


def test_other_instructions_are_used_only_where_they_are():
    assert "movbe" in read_target(describe(AVX2)).features
    assert "movbe" not in read_target(describe(AVX2.replace("movbe", ""))).features


def test_keys_tell_targets_apart():
    targets = [read_target(describe(AVX2)), read_target(describe(AVX2, model=2)), read_target(describe(AVX512)),
               read_target(describe(AVX2.replace("movbe", ""))), Target.avx512()]
    machine = targets[0].machine
    targets.append(targets[0]._replace(machine=machine._replace(own_cache=2 * machine.own_cache)))
    targets.append(targets[0]._replace(machine=machine._replace(products=ProductTuning(packed_rows=120))))
    assert len({target.key for target in targets}) == len(set(targets)) == 7
    assert read_target(describe(AVX2)).key == targets[0].key


def test_the_switch_cuts_the_host():
    with flags.overriding(cpu_features="avx2"):
        assert Target.host() == Target.avx2() and Target.host().vector_bytes == 32


@pytest.mark.parametrize("processor", ["x86-64-v4", "skylake-avx512", "sapphirerapids", "znver4"])
def test_avx512_means_registers_of_full_width(processor):
    text = assembly(ADD, Target.avx512()._replace(processor=processor))
    assert "zmm" in text and "ymm" not in text


def test_a_cut_target_uses_nothing_else_of_the_processor():
    cut = read_target(describe(AVX2))._replace(processor="sapphirerapids")
    text = assembly(ADD, cut)
    assert "ymm" in text and "zmm" not in text
    half = "define <8 x half> @f(<8 x half> %x) { %y = fadd <8 x half> %x, %x ret <8 x half> %y }"
    assert "vaddph" not in assembly(half, cut) and "vcvtph2ps" in assembly(half, cut)


def test_a_fused_multiply_add_is_an_instruction():
    text = ("declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)\n"
            "define <8 x float> @f(<8 x float> %x) {\n"
            "%y = call <8 x float> @llvm.fma.v8f32(<8 x float> %x, <8 x float> %x, <8 x float> %x)\n"
            "ret <8 x float> %y }")
    for each in (Target.host(), Target.avx2(), Target.avx512()):
        assert "vfmadd" in assembly(text, each) and "call" not in assembly(text, each)


def test_a_system_that_does_not_describe_its_processor(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")
    monkeypatch.setattr("builtins.open", refuse)
    target._host.cache_clear()
    with pytest.raises(NotSupported, match="does not say"):
        Target.host()

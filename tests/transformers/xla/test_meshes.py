"""Computations on meshes: values, places, and what is refused. A mesh of one device has the same rules as a larger one;
8 virtual devices are those of other processes, which run ``tests.sharded_steps`` and ``tests.mesh_facts``.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import nervure as nv
from nervure.types.mesh import Sharding, read_sharding

pytest.importorskip("jax", reason="jax is not installed")


def lines_of(module: str, *arguments: object) -> list[dict]:
    """What a program of the tests prints, a line of JSON each."""
    done = subprocess.run([sys.executable, "-m", module, *map(str, arguments)], capture_output=True, text=True,
                          timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@pytest.fixture
def xla():
    with nv.transformers.make_transformer("xla") as made:
        yield made


def test_sharded_steps_are_those_of_one_device():
    """J1, J2: with Adam, gradients clipped by their global norm, dropout, batch norm, and attention."""
    found = lines_of("tests.sharded_steps")
    assert {(row["model"], row["sharding"]) for row in found} == {
        (model, kind) for model in ("dense", "convolutional", "decoder") for kind in ("data", "both", "parameters")}
    for row in found:
        assert row["losses"] < 1e-5 and row["values"] < 1e-4, row
        assert row["first"] != row["last"], row


def test_places_and_exchange_on_eight_devices():
    """J1, J3, J4: parts of variables, values that are pinned, results, and what explanations count."""
    facts = {row["fact"]: row["value"] for row in lines_of("tests.mesh_facts")}
    assert facts["weights"] == [8, 2]  # of F=8, H=16 over 8 parts of H
    assert facts["bytes"] == 4 * 8 * 16 // 8
    assert facts["result"] == facts["unsharded"]
    assert facts["pinned"] == facts["unsharded"]
    assert facts["moved"] == facts["unsharded"]
    assert facts["jit"] == facts["unsharded"]
    assert facts["reduced bytes"] == facts["bytes of gradients"]
    assert facts["does not divide"].startswith("shard: a length of 12 is not split over 8 devices")
    assert "N = 12, over data" in facts["does not divide"]
    assert facts["pinned badly"].startswith("ShardAs: a length of 3 is not split over 8 devices")
    assert facts["unknown to the mesh"].startswith("ShardAs: the mesh has no axis rows")


def small(xla, **options):
    x, w = nv.placeholder("N=n, F=4"), nv.variable("F=4", 2.0).named("w")
    return nv.computation(nv.dot(x, w), x, transformer=xla, **options)


@pytest.mark.parametrize(("options", "text"), [
    ({"mesh": nv.Mesh({"data": 1024}), "shard": {"N": "data"}}, "shard: the mesh is larger than the number of devices"),
    ({"mesh": nv.Mesh({"data": 1}), "shard": {"M": "data"}}, "no argument, variable or result has an axis M"),
    ({"mesh": nv.Mesh({"data": 1}), "shard": {"N": "dat"}}, "computation: the mesh has no axis dat"),
    ({"mesh": nv.Mesh({"data": 1}), "shard": {"N": "data", "F": "data"}}, "split over the same axis of the mesh"),
    ({"mesh": nv.Mesh({"data": 1}), "shard": {"N": ("data", "data")}}, "an axis of the mesh is named twice"),
    ({"mesh": nv.Mesh({"data": 1}), "shard_parameters": "model"}, "computation: the mesh has no axis model"),
    ({"shard": {"N": "data"}}, "shard splits tensors over a mesh, and there is none"),
    ({"shard_parameters": "data"}, "shard_parameters splits tensors over a mesh, and there is none")])
def test_what_a_mesh_refuses(xla, options, text):
    """J5"""
    with pytest.raises(nv.InvalidArgument) as caught:
        small(xla, **options)(np.ones((2, 4), np.float32))
    assert text in str(caught.value) and caught.value.help


@pytest.mark.parametrize("options", [
    {"mesh": {"data": 4}}, {"mesh": nv.Mesh({"data": 1}), "shard": "N"}, {"mesh": nv.Mesh({"data": 1}),
                                                                       "shard": {0: "data"}},
    {"mesh": nv.Mesh({"data": 1}), "shard": {"N": 0}}])
def test_other_kinds_are_refused(xla, options):
    """J5"""
    with pytest.raises(nv.WrongKind) as caught:
        small(xla, **options)
    assert caught.value.help


@pytest.mark.parametrize(("axes", "text"), [
    ({}, "a mesh has an axis or more"), ({"data": 0}, "the axis data of a mesh has no such length"),
    ({"data": 2.0}, "no such length"), ({"a b": 2}, "an axis of a mesh has a name")])
def test_what_is_no_mesh(axes, text):
    """J5"""
    with pytest.raises(nv.InvalidArgument, match=text):
        nv.Mesh(axes)
    with pytest.raises(nv.WrongKind):
        nv.Mesh([("data", 2)])


def test_other_transformers_run_on_one_device(cpu):
    """J5"""
    with pytest.raises(nv.NotSupported) as caught:
        small(cpu, mesh=nv.Mesh({"data": 1}), shard={"N": "data"})
    assert "the transformer cpu runs on one device" in str(caught.value) and "make_transformer" in caught.value.help


def test_a_mesh_of_one_device_gives_what_one_device_gives(xla):
    """J1"""
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    mesh = nv.Mesh({"data": 1})
    assert small(xla, mesh=mesh, shard={"N": "data", "F": None})(rows).tolist() == small(xla)(rows).tolist()
    x, w = nv.placeholder("N=n, F=4").named("x"), nv.variable("F=4", 2.0)
    model = nv.build(nv.sum(x * w, out_axes=()), inputs=("x",), transformer=xla, mesh=mesh, shard={"N": "data"})
    assert model.forward(rows).item() == 56
    model.backward()
    assert xla.get(model.gradients[0]).tolist() == rows.sum(axis=0).tolist()
    double = nv.jit(lambda x: x * 2.0, transformer=xla, mesh=mesh)
    assert double(rows).tolist() == (rows * 2).tolist()


def test_splits():
    """J1, J2: levels of one class, and the axis along which parameters are split."""
    sharding = read_sharding(nv.Mesh({"data": 4, "model": 2}), {"H": "model"}, ("data",), "test")
    assert isinstance(sharding, Sharding)
    assert sharding.split(("H", "H-1", None), "w") == (("model",), (), ())
    assert sharding.split_further(((), ("model",)), (8, 16)) == (("data",), ("model",))
    assert sharding.split_further(((), ()), (8, 16)) == ((), ("data",))
    assert sharding.split_further(((), ()), (3, 5)) == ((), ())
    assert sharding.split_further((), ()) == ()
    narrow = read_sharding(nv.Mesh({"data": 4, "model": 1}), {"H": "model"}, "data", "test")
    assert narrow.split_further((("model",),), (8,)) == (("model", "data"),)


def test_shard_as_is_the_value_itself_elsewhere(transformer):
    """J3"""
    x = nv.placeholder("N=n, H=3")
    pinned = nv.shard_as(x, {"N": "data", 1: None})
    slope = nv.deriv(nv.sum(pinned * pinned, out_axes=()), x)
    both = nv.computation([pinned, slope], x, transformer=transformer)([[1, 2, 3]])
    assert [array.tolist() for array in both] == [[[1, 2, 3]], [[2, 4, 6]]]
    assert not any([type(op).__name__ == "ShardAs" for op in nv.computation(
        pinned * 2.0, x, transformer=nv.transformers.make_transformer("interpreter")).optimised.operations])


@pytest.mark.parametrize(("axes", "kind"), [
    ({"M": "data"}, nv.AxisMismatch), ({3: "data"}, nv.IndexOutOfRange), ("data", nv.WrongKind),
    ({"N": 1}, nv.WrongKind), ({"N": "a b"}, nv.WrongKind), ({"N": "data", "H": "data"}, nv.InvalidArgument)])
def test_what_shard_as_refuses(axes, kind):
    """J5"""
    with pytest.raises(kind) as caught:
        nv.shard_as(nv.placeholder("N=n, H=3"), axes)
    assert caught.value.op == "shard_as" and caught.value.help

"""Tensors that exist and inputs: how they are made and shown."""

from __future__ import annotations

import numpy as np
import pytest

import nervure as nv
from nervure import transformers
from nervure.errors import InvalidArgument, NervureError, WrongKind
from nervure.types.layout import Layout, column_major, dense, row_major
from tests.transformers.devices.own import Lists


def test_one_class_has_two_names():
    """T1: the class that devices are derived from is that of all tensors."""
    assert nv.AbstractTensor is nv.Tensor
    for made in (nv.make_tensor((2,)), nv.make_input((2,), "x"), nv.make_tensor((2,)) + 1):
        assert isinstance(made, nv.AbstractTensor)


@pytest.mark.parametrize(("shape", "options", "expected"), [
    ((2,), {}, [0.0, 0.0]), ([2], {"initial_element": 1.5}, [1.5, 1.5]), ("H=2", {"initial_element": 3}, [3.0, 3.0]),
    (2.5, {}, 2.5), (3, {}, 3.0), (3, {"dtype": nv.int32}, 3), ((), {"initial_element": 4}, 4.0),
    ((2,), {"dtype": nv.int8, "initial_element": 7}, [7, 7])], ids=str)
def test_what_make_tensor_makes(shape, options, expected):
    """T2: a shape is filled; a number is a scalar."""
    made = nv.make_tensor(shape, **options)
    assert made.tolist() == expected and made.dtype is nv.as_dtype(options.get("dtype", nv.float32))
    assert made.is_persistent and not made.is_trainable and made.facet is nv.Facet.EXIST


def test_make_tensor_keeps_axes_and_its_value():
    """T2: it is a place like every persistent tensor."""
    made = nv.make_tensor("H=2, W=3", initial_element=1.0)
    assert made.axes.names == ("H", "W") and made.storage.shape == (2, 3)
    nv.evaluate(nv.assign(made, made + 1))
    assert made.tolist() == [[2.0] * 3] * 2 == made.storage.tolist()


@pytest.mark.parametrize(("call", "kind", "told"), [
    (lambda: nv.make_tensor(np.ones(3)), WrongKind, "nv.tensor(data, axes=None, dtype=None, requires_grad=False)"),
    (lambda: nv.make_tensor(nv.ones((3,))), WrongKind, "nv.tensor(data"),
    (lambda: nv.make_tensor((3,), device="cpu"), WrongKind, "declares one"),
    (lambda: nv.make_tensor((3,), device=int), WrongKind, "declares one"),
    (lambda: nv.make_tensor(3.0, initial_element=1.0), InvalidArgument, "initial_element=2.0"),
    (lambda: nv.make_tensor((3,), initial_element=np.ones(3)), WrongKind, "nv.tensor(data)"),
    (lambda: nv.make_tensor((3,), order="K"), InvalidArgument, "'F' the first"),
    (lambda: nv.make_input((3,), "x", order=1), InvalidArgument, "'F' the first"),
    (lambda: nv.make_tensor((nv.dim("n"),)), InvalidArgument, "nv.make_input(shape"),
    (lambda: nv.make_tensor(("n", 3)), InvalidArgument, "nv.make_input(shape"),
    (lambda: nv.make_tensor({"N": "n"}), InvalidArgument, "nv.make_input(shape"),
    (lambda: nv.make_tensor(1j), WrongKind, "dtype=nv.complex64"),
    (lambda: nv.make_tensor((3,), initial_element=1j), WrongKind, "dtype=nv.complex64"),
    (lambda: nv.make_tensor((3,), requires_grad="yes"), WrongKind, "requires_grad=True"),
    (lambda: nv.make_input((), "x", scalar="yes"), WrongKind, "scalar=True"),
    (lambda: nv.make_input((3,), "x", scalar=True), InvalidArgument, "leave out scalar=True"),
    (lambda: nv.make_input((3,), ""), WrongKind, "named"), (lambda: nv.make_input((3,), 3), WrongKind, "named"),
    (lambda: nv.make_input((3,), "x", like=3), WrongKind, "dtype="),
    (lambda: nv.make_tensor((3,), requires_grad=True, dtype=nv.int32), WrongKind, "dtype=nv.float32"),
    (lambda: nv.make_tensor((3,), shape=3), WrongKind, "shape_or_scalar")], ids=range(21))
def test_what_cannot_be_made(call, kind, told):
    """T3, T5: an error says what would do."""
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, NervureError) and told in caught.value.help
    assert caught.value.location.file == __file__


def test_a_tensor_seen_through_a_view():
    """T4: the tensor below is whole."""
    made = nv.make_tensor((3, 4), initial_element=2.0, view=(slice(None, None, 2), 1))
    assert made.shape == (2,) and made.orig_shape == (3, 4) and made.is_view and made.tolist() == [2.0, 2.0]
    assert made.facet is nv.Facet.EXIST and made.state == "stored"


def test_inputs():
    """T5, T6: a name makes an argument, None a temporary; lengths may be symbols, expressions, or of the argument's
    name.
    """
    a = nv.dim("a")
    x = nv.make_input(("a", 2 * a + 1), "a", dtype=nv.float64)
    assert x.is_input and x.name == "a" and x.dtype is nv.float64 and str(x.shape) == "(a, 2*a + 1)"
    total = nv.computation(nv.sum(x), x)
    assert total(np.ones((2, 5))) == 10.0 and total(np.ones((1, 3))) == 3.0
    first, second = nv.make_input((3,), None), nv.make_input((3,), None)
    assert not first.is_input and not first.is_persistent and first.name != second.name
    assert nv.evaluate(nv.sequential([nv.assign(first, 2.0), first + 1])).tolist() == [3.0] * 3
    assert nv.make_input((1,), "s", scalar=True).shape == nv.make_input((), "s", scalar=True).shape == ()
    assert nv.make_input((3,), "y", like=x).dtype is nv.float64
    for axes in ("N=n, C=3", {"N": "n", "C": 3}, {"N": nv.dim("n"), "C": 3}):
        z = nv.make_input(axes, "z")
        assert z.axes.names == ("N", "C") and z.shape == (nv.dim("n"), 3)


def test_facets():
    """T7: what exists keeps its value."""
    x, w = nv.make_input((2,), "x"), nv.variable((2,))
    for exists in (w, nv.make_tensor((2,)), nv.tensor([1.0]), nv.constant([1.0]), nv.proceed(w + 1), w[0], w[::-1]):
        assert exists.facet is nv.Facet.EXIST and exists.state == "stored" and nv.proceed(exists) is exists
    zeros = nv.zeros((2,))
    for comes in (x, nv.placeholder((2,)), nv.temporary((2,)), w + 1, w[0] + 1, x[0], zeros, zeros[0]):
        assert comes.facet is nv.Facet.INPUT and comes.state != "stored"


def test_how_tensors_show_themselves():
    """T8: elements that are known, most of them left out; device, type, facet, gradient and node."""
    shown = repr(nv.make_tensor((100, 100), initial_element=1.0))
    assert shown.startswith("<CPUTensor f32[100, 100]\n  [[1. 1. ... 1. 1.]\n") and len(shown) < 300
    assert "facet=exist requires_grad=False node=None>" in shown
    w = nv.parameter(nv.constant([1.0, 2.0])).named("w")
    assert repr(w) == "<CPUTensor f32[2] 'w'\n  [1. 2.]\n  facet=exist requires_grad=True node=None>"
    w.set_mref(0, 9.0)
    assert "[9. 2.]" in repr(w) and "Computed" in repr(nv.proceed(w * 2))
    x = nv.make_input((3,), "x")
    assert "<<not allocated: size=(3,)>>" in repr(x)
    x.storage[:] = 5.0
    assert "[5. 5. 5.]" in repr(x)


def test_showing_computes_nothing(monkeypatch):
    """T8: nor does it make a transformer."""
    monkeypatch.setattr(transformers, "_default", None)
    monkeypatch.setattr(transformers, "make_transformer", lambda *_: pytest.fail("made"))
    assert "[[7. 7.]" in repr(nv.make_tensor((2, 2), initial_element=7.0))
    assert "<<not allocated" in repr(nv.make_input(("a", 10), "x"))


def test_what_was_there_shows_itself_as_before():
    """T8: nv.variable, nv.tensor, placeholders and what is computed stay on one line."""
    w = nv.variable("F=3")
    assert repr(w) == "<variable f32[F=3]>" and repr(w + w) == "<Tensor f32[F=3] Add>"
    assert repr(nv.placeholder((2,))) == "<placeholder f32[2]>" and repr(nv.tensor([1.0])) == "<persistent f32[1]>"


# -- layouts ----------------------------------------------------------------------------------------------------------


ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("layout", ["C", "F", dense((2, 3, 4), (1, 2, 0)), dense((2, 3, 4), (2, 0, 1))], ids=str)
@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_memory_is_kept_as_it_was_asked_for(layout, name, monkeypatch):
    """T28: whatever is assigned; values and derivatives are the same."""
    with transformers.make_transformer(name) as transformer:
        monkeypatch.setattr(transformers, "_default", transformer)
        w, plain = nv.variable((2, 3, 4), ARRAY, layout=layout), nv.variable((2, 3, 4), ARRAY)
        expected = tuple(4 * stride for stride in w.strides)
        assert w.storage.strides == expected and w.tolist() == ARRAY.tolist()
        for entry in (w, plain):
            loss = nv.sum(nv.exp(entry * 0.1) * ARRAY)
            loss.backward()
            step = nv.computation([nv.assign(entry, entry - 0.5 * entry.grad), nv.assign(entry[1], entry[0] + 1), loss])
            step()
            step()
            transformer.set(entry, transformer.get(entry) + 1)
        assert w.storage.strides == expected and w.tolist() == plain.tolist() and w.grad.tolist() == plain.grad.tolist()
        w.set_mref(1, 2, 3, -5.0)
        assert nv.mref(w.transpose(2, 0, 1), 3, 1, 2) == -5.0 and w.storage.strides == expected
        memory = w.storage
        step = nv.computation(nv.assign(w, w * 2))
        step()
        memory[0] = 7
        assert w[0].tolist() == [[7.0] * 4] * 3 and nv.mref(w, 1, 2, 3) == -10.0 and w.storage is memory


def test_column_major_tensors():
    """T28: with strides, order and description; a storage of that order fits, and no other."""
    x = nv.make_tensor((2, 3), order="F", initial_element=1.0)
    assert (x.strides, x.order, x.T.order, x.description.layout.strides) == ((1, 2), "F", "C", (1, 2))
    assert x.storage.flags.f_contiguous and not x.is_view and x.orig_shape == (2, 3)
    given = np.asfortranarray(ARRAY[0, :2, :3])
    x.storage = given
    assert x.storage is given and (x + 0).tolist() == given.tolist()
    with pytest.raises(InvalidArgument, match="memory without gaps"):
        x.storage = np.ascontiguousarray(given)


def test_inputs_have_layouts():
    """T28: of symbolic lengths too; like= is another tensor's."""
    x = nv.make_input(("a", 3), "x", order="F")
    x.storage = np.asfortranarray(np.ones((4, 3), np.float32))
    assert x.storage.flags.f_contiguous and (x * 2).tolist() == [[2.0] * 3] * 4
    turned = nv.tensor(ARRAY).transpose(2, 0, 1)
    for like, expected in ((x, (1, 5)), (turned, (4, 1)), (nv.tensor(ARRAY[0].T), (4, 1)), (turned[:, 0].T, (4, 1))):
        assert nv.make_input((5, 4), "y", like=like).storage.strides == tuple(4 * entry for entry in expected)
    made = nv.make_input((4, 2, 3), "z", like=turned)
    assert made.storage.strides == tuple(4 * stride for stride in turned.strides) and made.order == "A"


GAPS = {"rows": row_major((2, 3, 4), sizes=(2, 3, 8)), "matrices": row_major((2, 3, 4), sizes=(2, 5, 4)),
        "at the end": row_major((2, 3, 4), sizes=(3, 3, 4)), "columns": column_major((2, 3, 4), sizes=(16, 4, 5)),
        "by strides": Layout((1, 20, 4)), "permuted": row_major((4, 2, 3), sizes=(4, 4, 4)).permuted((1, 2, 0))}


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("name", ["cpu", "interpreter"])
def test_memory_with_gaps(gaps, name, monkeypatch):
    """A322: allocated with its sizes, whatever is assigned, and read and written where it lies; values are the same."""
    layout = GAPS[gaps]
    with transformers.make_transformer(name) as transformer:
        monkeypatch.setattr(transformers, "_default", transformer)
        with nv.devices(nv.CPUTensor, nv.NumPyTensor):
            w = nv.variable((2, 3, 4), ARRAY, layout=layout)
        plain = nv.variable((2, 3, 4), ARRAY)
        described = w.description.layout
        assert w.strides == described.strides == layout.strides and w.T.strides == layout.strides[::-1]
        room = np.prod(described.sizes)

        def is_kept():
            memory = w.storage
            return memory.strides == tuple(4 * stride for stride in layout.strides) and memory.base.size == room
        assert room > 24 and is_kept() and w.tolist() == ARRAY.tolist()
        for entry in (w, plain):
            loss = nv.sum(nv.exp(entry * 0.1) * ARRAY)
            loss.backward()
            step = nv.computation([nv.assign(entry, entry - 0.5 * entry.grad), nv.assign(entry[1], entry[0] + 1), loss])
            step()
            step()
            transformer.set(entry, transformer.get(entry) + 1)
        assert is_kept() and w.tolist() == plain.tolist() and w.grad.tolist() == plain.grad.tolist()
        memory = w.storage
        nv.evaluate(nv.assign(w, w * 2))
        memory[0] = 7
        w.set_mref(1, 2, 3, -5.0)
        assert memory[1, 2, 3] == nv.mref(w.T, 3, 2, 1) == -5.0 and w[0].tolist() == [[7.0] * 4] * 3
        place = w.offset + sum(np.multiply((1, 1, 2), w.strides))
        w.set_vref(int(place), 11.0)
        assert w.vref(int(place)) == 11.0 == memory[1, 1, 2] and w.storage is memory and is_kept()
        part = memory[1:]
        del memory
        nv.evaluate(nv.assign(w, w + 1))
        assert part[0, 1, 2] == 12.0 and is_kept()


def test_storage_with_gaps_that_is_given():
    """A322, T22: with the sizes that were asked for, and no other."""
    w = nv.variable((2, 3), layout=row_major((2, 3), sizes=(2, 4)))
    given = np.arange(8, dtype=np.float32).reshape(2, 4)
    w.storage = given[:, :3]
    nv.evaluate(nv.assign(w, w * 10))
    assert given.tolist() == [[0.0, 10.0, 20.0, 3.0], [40.0, 50.0, 60.0, 7.0]]
    for wrong in (np.ones((2, 3), np.float32), np.ones((2, 5), np.float32)[:, :3]):
        with pytest.raises(InvalidArgument, match="memory with gaps"):
            w.storage = wrong
    end = nv.variable((3,), layout=row_major((3,), sizes=(8,)))
    with pytest.raises(InvalidArgument, match="memory with gaps"):
        end.storage = np.ones(3, np.float32)
    end.storage = np.ones(8, np.float32)[:3]
    with nv.devices(Lists, nv.CPUTensor), pytest.raises(nv.NotSupported, match="an element for each index"):
        _ = nv.variable((2, 3), layout=row_major((2, 3), sizes=(2, 4))).storage


@pytest.mark.parametrize(("layout", "kind"), [(Layout((4, 2)), InvalidArgument), (Layout((1,)), InvalidArgument),
                                              (Layout((2, 1)), InvalidArgument), (Layout((0, 1)), InvalidArgument),
                                              (Layout((3, 1), 2), InvalidArgument), ("K", WrongKind), (3, WrongKind),
                                              (Layout((3, -1), 2), InvalidArgument)], ids=str)
def test_layouts_that_no_place_has(layout, kind):
    """T28: with overlaps or gaps in its rows, for another rank, and what is none."""
    with pytest.raises(kind) as caught:
        nv.variable((2, 3), layout=layout)
    assert caught.value.location.file == __file__ and caught.value.help

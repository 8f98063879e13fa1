"""Recurrent layers here and in PyTorch, from the same numbers: outputs and last states, by everything given."""

from __future__ import annotations

from typing import Any

import nervure as nv
from nervure import nn
from tests.nn.torch_cases import called, case

GATES = {"RNN": 1, "LSTM": 4, "GRU": 3}


def shapes_of(kind: str, inputs: int, outputs: int, layers: int = 1, directions: int = 1, bias: bool = True,
              projection: int = 0) -> dict[str, tuple[int, ...]]:
    """The parameters of a layer, by their names here."""
    found: dict[str, tuple[int, ...]] = {}
    gates, shown = GATES[kind] * outputs, projection or outputs
    for layer in range(layers):
        for end in ("", "_reverse")[:directions]:
            found[f"weights_ih_l{layer}{end}"] = (inputs if layer == 0 else shown * directions, gates)
            found[f"weights_hh_l{layer}{end}"] = (shown, gates)
            if bias:
                found |= {f"bias_{part}_l{layer}{end}": (gates,) for part in ("ih", "hh")}
            if projection:
                found[f"weights_hr_l{layer}{end}"] = (outputs, projection)
    return found


def with_parameters(layer: nn.Module, names: list[str], values: Any) -> nn.Module:
    """A layer with these parameters in the place of its own."""
    for name, value in zip(names, values, strict=True):
        setattr(layer, name, value)
    return layer


def there_named(names: list[str], values: Any) -> dict[str, Any]:
    """Parameters under PyTorch's names, in its order of axes."""
    return {name.replace("weights", "weight"): value.T if value.ndim > 1 else value for name, value in zip(
        names, values, strict=True)}


def joined(kind: str, found: Any, concatenate: Any, flatten: Any) -> Any:
    """The outputs and the last states as one vector."""
    y, last = found
    return concatenate([flatten(entry) for entry in (y, *(last if kind == "LSTM" else [last]))])


def layer_case(name: str, kind: str, settings: dict[str, Any] | None = None, theirs: dict[str, Any] | None = None,
               layers: int = 1, directions: int = 1, bias: bool = True, projection: int = 0, named: bool = False,
               states: bool = False, lengths: list[int] | None = None) -> None:
    steps, batch, inputs, outputs = 5, 3, 4, 6
    shapes = shapes_of(kind, inputs, outputs, layers, directions, bias, projection)
    is_batch_first = (settings or {}).get("batch_first", False)
    arrays: dict[str, Any] = {"x": (batch, steps, inputs) if is_batch_first or named else (steps, batch, inputs)}
    if states:
        arrays["h"] = (layers * directions, batch, projection or outputs)
        arrays |= {"c": (layers * directions, batch, outputs)} if kind == "LSTM" else {}
    count = len(arrays)
    arguments = {**(settings or {}), **({"projection": "P=" + str(projection) if named else projection}
                                        if projection else {})}

    def here(x: Any, *others: Any) -> Any:
        made = getattr(nn, kind)(*(("F=4", "H=6") if named else (inputs, outputs)), layers=layers,
                                 bidirectional=directions == 2, bias=bias, **arguments)
        layer = with_parameters(made, list(shapes), others[count - 1:])
        first = others[:count - 1]
        given = (first[0] if kind != "LSTM" else first,) if first else (None,)
        found = layer.eval()(x, *given, lengths=None if lengths is None else nv.constant(lengths, "N=3" if named else
                                                                                        None, dtype=nv.int64))
        return joined(kind, found, nv.concatenate, lambda y: nv.reshape(nv.Tensor(y.value), (-1,)))

    def there(torch: Any, x: Any, *others: Any) -> Any:
        module = getattr(torch.nn, kind)(inputs, outputs, num_layers=layers, bidirectional=directions == 2, bias=bias,
                                         batch_first=is_batch_first or named, **(theirs or {}),
                                         **({"proj_size": projection} if projection else {}))
        first = others[:count - 1]
        given = (first[0] if kind != "LSTM" else tuple(first),) if first else ()
        parameters = there_named(list(shapes), others[count - 1:])
        if lengths is None:
            found = called(torch, module, parameters, x, *given)
        else:
            rnn = torch.nn.utils.rnn
            packed = rnn.pack_padded_sequence(x, lengths, module.batch_first, enforce_sorted=False)
            y, last = called(torch, module, parameters, packed, *given)
            found = rnn.pad_packed_sequence(y, module.batch_first, total_length=steps)[0], last
        return joined(kind, found, torch.cat, torch.flatten)
    axes = {"x": "N=3, T=5, F=4"} if named else {}
    if named and states:
        axes |= {"h": f"L={layers * directions}, N=3, {'P' if projection else 'H'}={projection or outputs}",
                 "c": f"L={layers * directions}, N=3, H=6"}
    case(there, here, axes, **arrays, **shapes)(name)


layer_case("rnn", "RNN")
layer_case("rnn of relu", "RNN", {"nonlinearity": "relu"}, {"nonlinearity": "relu"}, layers=2)
layer_case("rnn without bias", "RNN", bias=False, states=True)
layer_case("lstm", "LSTM")
layer_case("lstm of two layers and directions", "LSTM", layers=2, directions=2, states=True)
layer_case("lstm with the batch first", "LSTM", {"batch_first": True}, layers=2)
layer_case("lstm without bias", "LSTM", bias=False)
layer_case("lstm with a projection", "LSTM", projection=2, layers=2, directions=2, states=True)
layer_case("lstm of names", "LSTM", named=True, states=True, projection=2)
layer_case("lstm of lengths", "LSTM", layers=2, directions=2, states=True, lengths=[3, 5, 1])
layer_case("gru", "GRU")
layer_case("gru of two layers and directions", "GRU", layers=2, directions=2, states=True)
layer_case("gru without bias", "GRU", bias=False)
layer_case("gru of names and lengths", "GRU", named=True, directions=2, lengths=[5, 2, 4])


def cell_case(kind: str, bias: bool = True, named: bool = False, settings: dict[str, Any] | None = None) -> None:
    shapes = {name.replace("_l0", ""): shape for name, shape in shapes_of(kind, 4, 6, bias=bias).items()}
    states = {"h": (3, 6), **({"c": (3, 6)} if kind == "LSTM" else {})}

    def here(x: Any, *others: Any) -> Any:
        made = getattr(nn, f"{kind}Cell")(*(("F=4", "H=6") if named else (4, 6)), bias=bias, **(settings or {}))
        cell = with_parameters(made, list(shapes), others[len(states):])
        found = cell(x, others[:2] if kind == "LSTM" else others[0])
        return nv.concatenate([nv.Tensor(y.value) for y in (found if kind == "LSTM" else [found])])

    def there(torch: Any, x: Any, *others: Any) -> Any:
        module = getattr(torch.nn, f"{kind}Cell")(4, 6, bias=bias, **(settings or {}))
        found = called(torch, module, there_named(list(shapes), others[len(states):]), x,
                       others[:2] if kind == "LSTM" else others[0])
        return torch.cat(found) if kind == "LSTM" else found
    axes = {"x": "N=3, F=4", "h": "N=3, H=6", "c": "N=3, H=6"} if named else {}
    case(there, here, axes, x=(3, 4), **states, **shapes)(
        f"{kind} cell{'' if bias else ' without bias'}{' of names' if named else ''}{' of relu' if settings else ''}")


for kind in GATES:
    cell_case(kind)
cell_case("GRU", bias=False)
cell_case("LSTM", named=True)
cell_case("RNN", settings={"nonlinearity": "relu"})

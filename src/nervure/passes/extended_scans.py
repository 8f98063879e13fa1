"""Scans with more slices and more stacked results than before, for passes that move values between loops.

What a loop computes in an iteration may come from outside instead, as a slice of all of it, and what it computes may be
given to others, as a further stacked result.

>>> import nervure as nv
>>> total, x = nv.Parameter(nv.float32, ()), nv.Parameter(nv.float32, ())
>>> sine, xs = nv.ops.Sin(x), nv.Parameter(nv.float32, (5,))
>>> body = nv.Function([total + sine], [total, x])
>>> scan = nv.ops.Scan(nv.Parameter(nv.float32, ()), xs, body=body, carries=1, slices=1, length=5)
>>> other = extended(scan, scan.operands, {sine.output: nv.ops.Sin(xs).output}, [sine.output])
>>> other.body.results
(f32[] Add(Parameter, Parameter), f32[] Parameter())
>>> [str(value.type) for value in other.outputs]
['f32[]', 'f32[5]']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nervure.ir.function import Function, moved
from nervure.ir.leaves import Parameter
from nervure.ir.op import Value
from nervure.ir.provenance import set_override
from nervure.ir.traverse import rebuild
from nervure.ops.looping import Scan


def extended(op: Scan, operands: Sequence[Value], read: Mapping[Value, Value], stacked: Sequence[Value],
             saved: Sequence[int] = ()) -> Scan:
    """Returns a scan on other ``operands``, which reads some values of its body and stacks others.

    ``read`` maps values of the body to tensors of which each iteration has a slice, ``stacked`` are values of the body
    that are results behind those that are there. Outputs for ``saved`` carries, of which there may be more, come last.
    """
    body, first = op.body, op.carries + op.slices
    fresh = {value: Parameter.of(value.type) for value in read}
    table: dict[Value, Value] = {value: parameter.output for value, parameter in fresh.items()}
    rebuild([entry for entry in body.operations if table.keys().isdisjoint(entry.outputs)], table)
    parameters = [*body.parameters[:first], *fresh.values(), *body.parameters[first:]]
    changed = Function([table.get(value, value) for value in (*body.results, *stacked)], parameters,
                       effects=[moved(effect, table) for effect in body.effects], name=body.name)
    before = set_override(op.provenance)
    try:
        made = Scan(*operands[:first], *read.values(), *operands[first:], **{
            **op.attributes, "body": changed, "slices": op.slices + len(fresh), "saved": (*op.saved, *saved)})
    finally:
        set_override(before)
    made.name = op.name
    for old, new in zip(op.outputs, outputs_of(op, made), strict=True):
        new.labels = old.labels
    return made


def outputs_of(op: Scan, made: Scan) -> list[Value]:
    """Returns the outputs of an extended scan that stand for those of the scan that it was."""
    results, stacked = len(op.body.results), len(made.body.results)
    return [*made.outputs[:results], *made.outputs[stacked:stacked + len(op.saved)]]


def further_outputs(op: Scan, made: Scan) -> tuple[Value, ...]:
    """Returns what an extended scan stacks beside what it stacked before."""
    return made.outputs[len(op.body.results):len(made.body.results)]

"""The places of tensors on a mesh, and the exchanges between its devices, as text.

>>> places = [PlaceReport("variable", "w", "f32[F=8, H=16]", "H over model", 64)]
>>> print(distribution(places, [Exchange("all-reduce", 2, 1028)]))
tensor      type            split         bytes a device
variable w  f32[F=8, H=16]  H over model              64
<BLANKLINE>
exchanged in a call: 2 all-reduce of 1,028 bytes on each device
"""

from __future__ import annotations

from collections.abc import Sequence

from nervure.transformers.report import Exchange, PlaceReport, table


def distribution(places: Sequence[PlaceReport], exchanges: Sequence[Exchange], most: int | None = None) -> str:
    """Returns the ``places`` of tensors, the ``most`` largest if there are more, and the ``exchanges``; nothing without
    a mesh.
    """
    if not places:
        return ""
    shown = sorted(places, key=lambda place: -place.bytes)[:most] if most is not None and len(places) > most else places
    rows = [(f"{place.kind} {place.name}", place.type, place.split, f"{place.bytes:,}") for place in shown]
    parts = [table([("tensor", "type", "split", "bytes a device"), *rows], right=(3,))]
    if len(shown) < len(places):
        parts[0] += f"\nand {len(places) - len(shown)} more; {sum([place.bytes for place in places]):,} bytes together"
    told = ", ".join([f"{each.count} {each.kind} of {each.bytes:,} bytes" for each in exchanges])
    parts.append(f"exchanged in a call: {told} on each device" if told else "exchanged in a call: nothing")
    return "\n\n".join(parts)

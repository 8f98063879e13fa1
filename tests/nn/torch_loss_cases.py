"""Losses of margins, and of labels without places: cases beside those of ``torch_cases``."""

from __future__ import annotations

from typing import Any

import numpy as np

import nervure as nv
from nervure.nn import losses
from tests.nn.torch_cases import SIGNS, WEIGHTS, case, numbers

LABELS = np.array([2, 0, 3])
MARKED = np.float32([[0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]])
LISTED = np.array([[1, 3, -1, 0], [0, -1, 2, 3], [-1, 0, 1, 2]])
SPELLED = np.array([[1, 1, 2], [3, 2, 0], [1, 0, 0]])
LENGTHS, SPELLED_LENGTHS = np.array([7, 5, 6]), np.array([3, 2, 0])


def _functional(name: str, *extra: Any, **settings: Any) -> Any:
    def there(torch: Any, *given: Any, **named: Any) -> Any:
        others = [torch.tensor(entry) for entry in extra]
        return getattr(torch.nn.functional, name)(*given, *others, **settings, **named)
    return there


numbers("hinge embedding", _functional("hinge_embedding_loss", SIGNS, margin=0.7),
        lambda x, **named: losses.hinge_embedding(x, SIGNS, 0.7, **named), x=3)
numbers("soft margin", _functional("soft_margin_loss", SIGNS),
        lambda x, **named: losses.soft_margin(x, SIGNS, **named), x=3)
for _p in (1, 2):
    numbers(f"multi-margin {_p}",
            lambda torch, x, p=_p, **named: torch.nn.functional.multi_margin_loss(
                x, torch.tensor(LABELS), p=p, margin=0.7, weight=torch.tensor(WEIGHTS).double(), **named),
            lambda x, p=_p, **named: losses.multi_margin(x, LABELS, p, 0.7, WEIGHTS, **named), x=(3, 4))
numbers("multi-label margin", _functional("multilabel_margin_loss", LISTED),
        lambda x, **named: losses.multilabel_margin(x, MARKED, **named), x=(3, 4))
numbers("multi-label soft margin",
        lambda torch, x, **named: torch.nn.functional.multilabel_soft_margin_loss(
            x, torch.tensor(MARKED), torch.tensor(WEIGHTS).double(), **named),
        lambda x, **named: losses.multilabel_soft_margin(x, MARKED, WEIGHTS, **named), x=(3, 4))
numbers("connectionist",
        lambda torch, x, **named: torch.nn.functional.ctc_loss(
            x.log_softmax(2), torch.tensor(SPELLED), torch.tensor(LENGTHS), torch.tensor(SPELLED_LENGTHS), **named),
        lambda x, **named: losses.ctc(nv.log_softmax(x, axis=2), SPELLED, LENGTHS, SPELLED_LENGTHS, **named),
        x=(7, 3, 4))
case(lambda torch, x: torch.nn.functional.ctc_loss(
        x.permute(1, 0, 2).log_softmax(2), torch.tensor(SPELLED[:2]), torch.tensor([2, 6]), torch.tensor([3, 2]),
        blank=0, zero_infinity=True, reduction="none"),
     lambda x: losses.ctc(nv.log_softmax(x, ["Y"]), nv.constant(SPELLED[:2], "N=2, S=3"), [2, 6], [3, 2],
                          zero_infinity=True, reduction="none"),
     {"x": "N=2, T=6, Y=4"}, x=(2, 6, 4))("connectionist of names")

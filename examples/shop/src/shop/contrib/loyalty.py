"""Loyal customers pay a twentieth less."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Sequence

from shop.money import Money
from shop.rules import price_rule

if TYPE_CHECKING:
    from shop.basket import Line


@price_rule("loyalty")
def loyalty(lines: Sequence[Line]) -> Money:
    off = Money.of(0)
    for line in lines:
        off += line.total() * Decimal("0.05")
    return off

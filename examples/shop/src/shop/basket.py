"""A basket, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from shop.catalogue import Catalogue, Product
from shop.money import Money
from shop.rates import convert
from shop.rules import Registry, registry


@dataclass(frozen=True)
class Line:
    product: Product
    quantity: int

    def total(self) -> Money:
        return self.product.price * self.quantity


@dataclass(frozen=True)
class Quote:
    subtotal: Money
    discounts: tuple[tuple[str, Money], ...]
    total: Money


class Basket:
    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lines: dict[str, int] = {}

    def add(self, sku: str, quantity: int = 1) -> None:
        if quantity < 1:
            raise ValueError(f"a quantity is 1 or more, not {quantity}")
        product = self._catalogue[sku]
        self._lines[product.sku] = self._lines.get(product.sku, 0) + quantity

    def lines(self) -> list[Line]:
        return [Line(self._catalogue[sku], quantity) for sku, quantity in self._lines.items()]

    def quote(
        self,
        currency: str = "USD",
        rules: Sequence[str] = ("bulk",),
        known: Registry = registry,
    ) -> Quote:
        lines = self.lines()
        subtotal = Money.of(0)
        for line in lines:
            subtotal += line.total()
        discounts = []
        total = subtotal
        for name in rules:
            off = known.get(name)(lines)
            if off.amount:
                discounts.append((name, convert(off, currency).rounded()))
                total -= off
        return Quote(
            convert(subtotal, currency).rounded(),
            tuple(discounts),
            convert(total, currency).rounded(),
        )

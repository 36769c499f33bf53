"""What is for sale."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Iterator

from shop.money import Money

DEFAULT = Path(__file__).parent / "data" / "catalogue.json"


class UnknownProduct(LookupError):
    """There is no product of this number."""


@dataclass(frozen=True)
class Product:
    sku: str
    name: str
    price: Money
    tags: frozenset[str] = field(default_factory=frozenset)


class Catalogue:
    def __init__(self, products: Iterable[Product]) -> None:
        self._products = {product.sku: product for product in products}

    @classmethod
    def load(cls, path: Path = DEFAULT) -> Catalogue:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            Product(
                sku=row["sku"],
                name=row["name"],
                price=Money.of(row["price"], row.get("currency", "USD")),
                tags=frozenset(row.get("tags", ())),
            )
            for row in rows
        )

    def __getitem__(self, sku: str) -> Product:
        try:
            return self._products[sku]
        except KeyError:
            raise UnknownProduct(f"no product `{sku}`") from None

    def __iter__(self) -> Iterator[Product]:
        return iter(sorted(self._products.values(), key=lambda product: product.sku))

    def __len__(self) -> int:
        return len(self._products)

    def tagged(self, tag: str) -> list[Product]:
        return [product for product in self if tag in product.tags]

"""The command `shop`."""

from __future__ import annotations

import argparse
import sys
from typing import Sequence

from shop.basket import Basket
from shop.catalogue import Catalogue, UnknownProduct
from shop.rates import UnknownCurrency
from shop.rules import UnknownRule, load_plugin, registry


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="shop")
    commands = top.add_subparsers(dest="command", required=True)
    quote = commands.add_parser("quote", help="what a basket costs")
    quote.add_argument("--currency", default="USD")
    quote.add_argument("--rule", action="append", default=[], help="a price rule to apply; may be repeated")
    quote.add_argument("--plugin", action="append", default=[], help="a module with more price rules")
    quote.add_argument("items", nargs="+", metavar="SKU[:QUANTITY]")
    commands.add_parser("rules", help="the price rules there are")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if options.command == "rules":
        print("\n".join(registry.names()))
        return 0
    for plugin in options.plugin:
        load_plugin(plugin)
    basket = Basket(Catalogue.load())
    try:
        for item in options.items:
            sku, _, quantity = item.partition(":")
            basket.add(sku, int(quantity or 1))
        quote = basket.quote(options.currency, options.rule or ("bulk",))
    except (UnknownCurrency, UnknownProduct, UnknownRule, ValueError) as error:
        print(f"shop: {error}", file=sys.stderr)
        return 2
    print(f"subtotal {quote.subtotal}")
    for name, off in quote.discounts:
        print(f"{name} -{off}")
    print(f"total {quote.total}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

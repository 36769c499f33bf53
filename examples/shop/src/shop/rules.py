"""The registry of price rules.

A rule is a function from the lines of a basket to a discount. Rules register by name when their module is imported; the rules
below are always there, plugins bring more.
"""

from __future__ import annotations

import importlib
from decimal import Decimal
from typing import TYPE_CHECKING, Callable, Sequence

from shop.money import Money

if TYPE_CHECKING:
    from shop.basket import Line

Rule = Callable[[Sequence["Line"]], Money]


class UnknownRule(LookupError):
    """No rule has this name: perhaps its plugin was not loaded."""


class Registry:
    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}

    def add(self, name: str, rule: Rule) -> None:
        if name in self._rules:
            raise ValueError(f"there is a rule `{name}` already")
        self._rules[name] = rule

    def get(self, name: str) -> Rule:
        try:
            return self._rules[name]
        except KeyError:
            raise UnknownRule(f"no price rule `{name}`") from None

    def names(self) -> list[str]:
        return sorted(self._rules)


registry = Registry()


def price_rule(name: str, into: Registry = registry) -> Callable[[Rule], Rule]:
    """Registers the decorated function as a rule."""

    def register(rule: Rule) -> Rule:
        into.add(name, rule)
        return rule

    return register


def load_plugin(module: str) -> None:
    """Imports a module that registers rules. Importing it again does nothing."""
    importlib.import_module(module)


@price_rule("bulk")
def bulk(lines: Sequence[Line]) -> Money:
    """A tenth off each line of ten or more."""
    off = Money.of(0)
    for line in lines:
        if line.quantity >= 10:
            off += line.total() * Decimal("0.1")
    return off


@price_rule("tea-week")
def tea_week(lines: Sequence[Line]) -> Money:
    """A dollar off every packet of tea."""
    packets = sum(line.quantity for line in lines if {"tea", "food"} <= line.product.tags)
    return Money.of(packets)

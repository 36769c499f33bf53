from decimal import Decimal

import pytest

from shop import Money
from shop.catalogue import UnknownProduct
from shop.rules import UnknownRule


def test_an_empty_basket_costs_nothing(basket):
    assert basket.quote().total == Money.of("0.00")


def test_quantities_of_one_product_add_up(basket):
    basket.add("MUG-1")
    basket.add("MUG-1", 2)
    assert [(line.product.sku, line.quantity) for line in basket.lines()] == [("MUG-1", 3)]


@pytest.mark.parametrize("quantity", [0, -1])
def test_a_quantity_is_at_least_one(basket, quantity):
    with pytest.raises(ValueError, match="1 or more"):
        basket.add("MUG-1", quantity)


def test_an_unknown_product_is_refused(basket):
    with pytest.raises(UnknownProduct, match="`SPOON-1`"):
        basket.add("SPOON-1")


def test_ten_of_a_kind_are_a_tenth_cheaper(basket):
    basket.add("TEA-100", 10)
    quote = basket.quote()
    assert quote.discounts == (("bulk", Money.of("6.50")),)
    assert quote.total == Money.of("58.50")


def test_discounts_add_up(basket):
    basket.add("TEA-100", 10)
    assert basket.quote(rules=("bulk", "tea-week")).total == Money.of("48.50")


def test_a_quote_in_euro_uses_the_days_rate(basket):
    basket.add("TEA-250")
    assert basket.quote("EUR").total == Money.of("12.60", "EUR")


def test_an_unknown_rule_is_refused(basket, rules):
    basket.add("MUG-1")
    with pytest.raises(UnknownRule, match="`bulk`"):
        basket.quote(known=rules)


def test_a_rule_of_ones_own_is_applied(basket, rules):
    rules.add("half", lambda lines: sum((line.total() for line in lines), Money.of(0)) * Decimal("0.5"))
    basket.add("POT-1")
    assert basket.quote(rules=("half",), known=rules).total == Money.of("17.00")

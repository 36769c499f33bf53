import pytest

from shop import Money
from shop.rules import UnknownRule, price_rule, registry


def test_the_built_in_rules_are_always_there():
    assert {"bulk", "tea-week"} <= set(registry.names())


def test_a_rule_is_found_by_its_name(rules):
    @price_rule("nothing", into=rules)
    def nothing(lines):
        return Money.of(0)

    assert rules.get("nothing") is nothing


def test_two_rules_cannot_share_a_name(rules):
    rules.add("nothing", lambda lines: Money.of(0))
    with pytest.raises(ValueError, match="already"):
        rules.add("nothing", lambda lines: Money.of(1))


def test_a_missing_rule_is_named(rules):
    with pytest.raises(UnknownRule, match="no price rule `bulk`"):
        rules.get("bulk")


def test_nine_of_a_kind_get_no_bulk_discount(basket):
    basket.add("MUG-1", 9)
    assert basket.quote().discounts == ()


def test_tea_week_leaves_books_about_tea_alone(basket):
    basket.add("BOOK-7")
    assert basket.quote(rules=("tea-week",)).discounts == ()

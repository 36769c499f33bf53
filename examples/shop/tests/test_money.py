from decimal import Decimal

import pytest

from shop import Money
from shop.money import CurrencyMismatch


def test_amounts_of_one_currency_add_up():
    assert Money.of("1.10") + Money.of("2.20") == Money.of("3.30")


def test_amounts_of_two_currencies_do_not_mix():
    with pytest.raises(CurrencyMismatch, match="USD and EUR"):
        Money.of(1) + Money.of(1, "EUR")


@pytest.mark.parametrize("exact, rounded", [("1.005", "1.01"), ("1.004", "1.00"), ("-0.005", "-0.01")])
def test_half_a_cent_is_rounded_away_from_zero(exact, rounded):
    assert Money.of(exact).rounded().amount == Decimal(rounded)


def test_an_amount_prints_with_its_currency():
    assert str(Money.of(3, "JPY")) == "3.00 JPY"

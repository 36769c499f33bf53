import json
from decimal import Decimal

import pytest

from shop import Money
from shop.rates import UnknownCurrency, convert, load_rates


def test_a_dollar_is_worth_a_dollar():
    assert load_rates()["USD"] == Decimal(1)


def test_money_in_its_own_currency_is_left_alone():
    assert convert(Money.of(5, "XXX"), "XXX") == Money.of(5, "XXX")


def test_a_conversion_goes_through_the_dollar():
    assert convert(Money.of("8", "CHF"), "EUR").rounded() == Money.of("9.00", "EUR")


def test_an_unknown_currency_is_refused():
    with pytest.raises(UnknownCurrency, match="`XXX`"):
        convert(Money.of(1), "XXX")


def test_rates_come_from_the_file_that_the_environment_names(tmp_path, monkeypatch):
    path = tmp_path / "rates.json"
    path.write_text(json.dumps({"USD": "1", "EUR": "0.50"}))
    monkeypatch.setenv("SHOP_RATES", str(path))
    assert convert(Money.of(10), "EUR") == Money.of(5, "EUR")

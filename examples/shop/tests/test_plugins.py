import pytest

from shop import Money
from shop.rules import load_plugin, registry


def test_loading_a_plugin_registers_its_rules():
    load_plugin("shop.contrib.loyalty")
    assert "loyalty" in registry.names()


def test_a_plugin_may_be_loaded_twice():
    load_plugin("shop.contrib.loyalty")
    load_plugin("shop.contrib.loyalty")


def test_loyal_customers_pay_a_twentieth_less(basket):
    load_plugin("shop.contrib.loyalty")
    basket.add("POT-1")
    assert basket.quote(rules=("loyalty",)).total == Money.of("32.30")


def test_a_missing_plugin_is_an_import_error():
    with pytest.raises(ImportError):
        load_plugin("shop.contrib.telepathy")

"""Exchange rates: how much of a currency one US dollar buys."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path

from shop.money import Money

DEFAULT = Path(__file__).parent / "data" / "rates.json"


class UnknownCurrency(LookupError):
    """There is no rate for this currency."""


def load_rates() -> dict[str, Decimal]:
    """The rates of the file that `SHOP_RATES` names, or of the one in the package."""
    path = Path(os.environ.get("SHOP_RATES", DEFAULT))
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {currency: Decimal(rate) for currency, rate in rows.items()}


def convert(money: Money, currency: str) -> Money:
    if money.currency == currency:
        return money
    rates = load_rates()
    for wanted in (money.currency, currency):
        if wanted not in rates:
            raise UnknownCurrency(f"no exchange rate for `{wanted}`")
    return Money(money.amount / rates[money.currency] * rates[currency], currency)

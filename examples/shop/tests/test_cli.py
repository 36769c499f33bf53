from shop.cli import main


def test_a_quote_is_printed(capsys):
    assert main(["quote", "TEA-100:2", "MUG-1"]) == 0
    assert capsys.readouterr().out == "subtotal 22.90 USD\ntotal 22.90 USD\n"


def test_discounts_are_printed_one_a_line(capsys):
    assert main(["quote", "--rule", "tea-week", "TEA-250"]) == 0
    assert "tea-week -1.00 USD\n" in capsys.readouterr().out


def test_a_quote_in_another_currency_is_printed(capsys):
    assert main(["quote", "--currency", "CHF", "POT-1"]) == 0
    assert "total 27.20 CHF" in capsys.readouterr().out


def test_an_unknown_product_ends_with_a_message(capsys):
    assert main(["quote", "SPOON-1"]) == 2
    assert capsys.readouterr().err == "shop: no product `SPOON-1`\n"


def test_an_unknown_currency_ends_with_a_message(capsys):
    assert main(["quote", "--currency", "XXX", "MUG-1"]) == 2
    assert "no exchange rate for `XXX`" in capsys.readouterr().err


def test_the_rules_are_listed(capsys):
    assert main(["rules"]) == 0
    assert {"bulk", "tea-week"} <= set(capsys.readouterr().out.split())

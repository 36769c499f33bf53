import json

import pytest

from shop import Catalogue, Money
from shop.catalogue import UnknownProduct


def test_products_come_in_the_order_of_their_numbers(catalogue):
    numbers = [product.sku for product in catalogue]
    assert numbers == sorted(numbers)
    assert len(catalogue) == 5


def test_a_product_is_found_by_its_number(catalogue):
    assert catalogue["MUG-1"].price == Money.of("9.90")


def test_a_missing_product_is_named(catalogue):
    with pytest.raises(UnknownProduct, match="no product `MUG-2`"):
        catalogue["MUG-2"]


@pytest.mark.parametrize(
    "tag, numbers",
    [("tea", ["BOOK-7", "TEA-100", "TEA-250"]), ("kitchen", ["MUG-1", "POT-1"]), ("garden", [])],
)
def test_products_are_found_by_tag(catalogue, tag, numbers):
    assert [product.sku for product in catalogue.tagged(tag)] == numbers


def test_a_catalogue_is_read_from_a_file(tmp_path):
    path = tmp_path / "catalogue.json"
    path.write_text(json.dumps([{"sku": "A", "name": "A", "price": "1", "currency": "CHF"}]))
    assert [product.price for product in Catalogue.load(path)] == [Money.of(1, "CHF")]

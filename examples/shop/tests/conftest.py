import pytest

from shop import Basket, Catalogue
from shop.rules import Registry


@pytest.fixture(scope="session")
def catalogue():
    return Catalogue.load()


@pytest.fixture
def basket(catalogue):
    return Basket(catalogue)


@pytest.fixture
def rules():
    """A registry of the test's own."""
    return Registry()

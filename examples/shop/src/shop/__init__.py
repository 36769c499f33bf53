"""Prices a basket: a catalogue, a registry of price rules, exchange rates."""

from shop.basket import Basket, Quote
from shop.catalogue import Catalogue, Product
from shop.money import Money

__all__ = ["Basket", "Catalogue", "Money", "Product", "Quote"]

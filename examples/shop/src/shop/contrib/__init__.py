"""Price rules that a shop may load."""

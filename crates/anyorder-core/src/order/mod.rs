//! Orders: keyed sorts, CPython shuffles, the plan.

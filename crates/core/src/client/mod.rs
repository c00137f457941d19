//! Asks: starts, signals, reads and mends instances through a provider.

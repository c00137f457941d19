//! SQLite storage for Duroxide.

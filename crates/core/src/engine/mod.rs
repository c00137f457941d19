//! Decides: replays recorded events and turns new messages into events and actions.

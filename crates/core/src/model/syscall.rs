//! Activities of the runtime itself, which record what must not differ between replays.

/// Prefix of their names. User activities cannot take it.
pub(crate) const PREFIX: &str = "__duroxide_syscall:";

/// Prefix of the names of orchestrations that belong to the runtime. Acts on many instances leave
/// them alone.
pub(crate) const BUILTIN_CODE: &str = "duroxide.";

/// Makes a random UUID.
pub(crate) const NEW_GUID: &str = "__duroxide_syscall:new_guid";

/// Reads the clock, in milliseconds since the Unix epoch.
pub(crate) const UTC_NOW_MS: &str = "__duroxide_syscall:utc_now_ms";

/// Reads a value of another instance.
pub(crate) const GET_KV_VALUE: &str = "__duroxide_syscall:get_kv_value";

/// All of them.
pub(crate) const ALL: [&str; 3] = [NEW_GUID, UTC_NOW_MS, GET_KV_VALUE];

/// Whether every node runs this activity, registered or not.
pub(crate) fn is_one(name: &str) -> bool {
    ALL.contains(&name)
}

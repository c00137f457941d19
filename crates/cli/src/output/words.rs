//! Numbers with their nouns.

/// As in "1 instance" and "2 instances".
pub(crate) fn instances(count: u64) -> String {
    counted(count, "instance")
}

/// As in "1 event" and "2 events".
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_many() {
        assert_eq!(instances(0), "0 instances");
        assert_eq!(instances(1), "1 instance");
        assert_eq!(counted(2, "event"), "2 events");
    }
}

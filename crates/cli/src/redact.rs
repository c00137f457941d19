//! Removes passwords from everything that the command writes about its own arguments.

/// The text without passwords of URLs and of `key=value` lists.
pub(crate) fn redact(text: &str) -> String {
    without_keys(&without_userinfo(text))
}

const HIDDEN: &str = "…";

/// `scheme://user:password@host` becomes `scheme://user:…@host`.
fn without_userinfo(text: &str) -> String {
    let mut cleared = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        cleared.push_str(before);
        cleared.push_str("://");
        let end = after.find(|c: char| c.is_whitespace() || "'\"`".contains(c));
        let (url, behind) = after.split_at(end.unwrap_or(after.len()));
        // A password may itself contain an '@' that its author forgot to encode.
        match url.rsplit_once('@') {
            Some((user, host)) => {
                let name = user.split_once(':').map_or(user, |(name, _password)| name);
                cleared.push_str(name);
                if user.contains(':') {
                    cleared.push(':');
                    cleared.push_str(HIDDEN);
                }
                cleared.push('@');
                cleared.push_str(host);
            }
            None => cleared.push_str(url),
        }
        rest = behind;
    }
    cleared + rest
}

/// `password=…` in a list or in the parameters of a URL.
fn without_keys(text: &str) -> String {
    let mut cleared = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.to_ascii_lowercase().find("password=") {
        let (before, after) = rest.split_at(at + "password=".len());
        cleared.push_str(before);
        cleared.push_str(HIDDEN);
        let quoted = after.strip_prefix('\'').and_then(|inner| inner.find('\'')).map(|end| end + 2);
        let plain = || after.find(|c: char| c.is_whitespace() || "&'\"`".contains(c));
        rest = &after[quoted.or_else(plain).unwrap_or(after.len())..];
    }
    cleared + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_disappear_and_the_rest_stays() {
        for (given, expected) in [
            ("plain text", "plain text"),
            ("postgres://app@h/d", "postgres://app@h/d"),
            ("postgres://app:secret@h/d", "postgres://app:…@h/d"),
            ("'postgres://app:secret@h/d' failed", "'postgres://app:…@h/d' failed"),
            ("postgres://app:sec@ret@h/d", "postgres://app:…@h/d"),
            ("a postgres://u:secret@h and b://v:secret@w", "a postgres://u:…@h and b://v:…@w"),
            ("host=h password=secret user=u", "host=h password=… user=u"),
            ("host=h password='se cret' user=u", "host=h password=… user=u"),
            ("postgres://h/d?user=u&password=secret&x=1", "postgres://h/d?user=u&password=…&x=1"),
        ] {
            assert_eq!(redact(given), expected);
            assert!(!redact(given).contains("secret"), "{given}");
        }
    }
}

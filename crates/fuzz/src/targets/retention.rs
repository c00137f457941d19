//! Rules of retention and points of histories, as people type them.

use duroxide::client::{MendPoint, RetentionPolicy, RetentionRule};

use crate::target::{Target, Verdict, require, word};

pub(super) const TARGET: Target = Target { name: "retention", seeds: Vec::new, read };

fn read(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    if let Ok(point) = text.parse::<MendPoint>() {
        let again = point.to_string().parse();
        require(again == Ok(point), || format!("{point} is read as {again:?}"))?;
        return Ok(format!("point {}", matches!(point, MendPoint::Event(_))));
    }
    let rule: RetentionRule = match text.parse() {
        Ok(rule) => rule,
        Err(error) => return Ok(word(&error)),
    };
    let again = rule.to_string().parse();
    require(again.as_ref() == Ok(&rule), || format!("{rule} is read as {again:?}"))?;
    require(RetentionPolicy::new([rule.clone()]).rules().len() == 1, || "no rule".to_owned())?;
    Ok(format!("{:?} {:?}", rule.status, rule.keep.is_some()))
}

//! Output without what differs from run to run: times, durations, and places.

/// Replaces times, durations and generated ids.
pub(crate) fn normal(text: &str) -> String {
    let mut normal = String::new();
    for line in text.lines() {
        let line = without_sample(line.trim_end());
        let mut rest = line;
        while !rest.is_empty() {
            let end = rest.find([' ', '(', ')', ',', ';']).unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            normal.push_str(&normal_word(word));
            let mark = behind.chars().next();
            normal.extend(mark);
            rest = mark.map_or("", |mark| &behind[mark.len_utf8()..]);
        }
        normal.push('\n');
    }
    let normal = normal.replace("<date> <time>", "<time>");
    let normal = normal.replace("<duration> <duration>", "<duration>");
    // A lease that a busy machine loses is an attempt more.
    let normal = (1..10).fold(normal, |text, attempt| {
        text.replace(&format!(", attempt {attempt}"), ", attempt <number>")
    });
    normal.replace("(now)", "(<duration> ago)")
}

fn normal_word(word: &str) -> String {
    let shape: String =
        word.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    if shape.starts_with("0000-00-00T") {
        return "<time>".to_owned();
    }
    match shape.as_str() {
        "0000-00-00" => return "<date>".to_owned(),
        "00:00:00Z" => return "<time>".to_owned(),
        _other => {}
    }
    let is_uuid = word.len() == 36 && shape.matches('-').count() == 4;
    if is_uuid {
        return "<uuid>".to_owned();
    }
    let unit = word.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let has_number = unit.len() < word.len();
    let mark = if unit.ends_with(':') { ":" } else { "" };
    match has_number && ["ms", "s", "m", "h", "d"].contains(&unit.trim_end_matches(':')) {
        true => format!("<duration>{mark}"),
        false => word.to_owned(),
    }
}

/// The ids of a sample are those that happened to be created first.
fn without_sample(line: &str) -> &str {
    match line.split_once(" instances: ") {
        Some((count, _)) if count.parse::<u64>().is_ok() => {
            &line[..count.len() + " instances:".len()]
        }
        Some(_) | None => line,
    }
}

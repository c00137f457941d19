//! Reads filters.

use super::error::FilterError;
use super::filter::{
    AttributeTest, Comparison, Condition, Filter, Term, TextField, TextTest, TextValue, TimeField,
};
use super::literal::AttributeLiteral;
use super::pattern::Pattern;
use super::point::{TimePoint, parse_length};
use super::row::{ErrorCategory, RowStatus};
use super::words::{ANY, ATTRIBUTE_PREFIX, KEYS, NONE, is_bare, nearest};
use crate::limits;

pub(super) fn parse(text: &str) -> Result<Filter, FilterError> {
    let mut parser = Parser { text, at: 0 };
    if text.len() > limits::FILTER_BYTES_MAX {
        let message = format!("it has {} bytes", text.len());
        let hint = format!("{} are allowed", limits::FILTER_BYTES_MAX);
        return Err(parser.error(limits::FILTER_BYTES_MAX..text.len(), message, hint));
    }
    let mut terms = Vec::new();
    loop {
        parser.skip_spaces();
        if parser.rest().is_empty() {
            return Ok(Filter::of_terms(terms));
        }
        let start = parser.at;
        let term = parser.term()?;
        if terms.len() == limits::FILTER_TERMS_MAX {
            let hint = format!("{} are allowed", limits::FILTER_TERMS_MAX);
            return Err(parser.error(
                start..parser.at,
                "it has too many conditions".to_owned(),
                hint,
            ));
        }
        terms.push(term);
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

/// Part of the text.
type Span = std::ops::Range<usize>;

/// The signs between a key and its value, longer ones first.
const SIGNS: [(&str, Sign); 8] = [
    ("!=", Sign::NotEqual),
    (">=", Sign::Compare(Comparison::GreaterOrEqual)),
    ("<=", Sign::Compare(Comparison::LessOrEqual)),
    (":", Sign::Compare(Comparison::Equal)),
    ("=", Sign::Compare(Comparison::Equal)),
    (">", Sign::Compare(Comparison::Greater)),
    ("<", Sign::Compare(Comparison::Less)),
    ("~", Sign::Contains),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Compare(Comparison),
    NotEqual,
    Contains,
}

/// One value as it is written.
struct Value {
    span: Span,
    pattern: Pattern,
    /// The text, if it has neither quotes nor wildcards.
    bare: Option<String>,
}

/// A key with its sign and the values behind it.
struct Parts {
    key: String,
    key_span: Span,
    sign: Sign,
    sign_span: Span,
    values: Vec<Value>,
}

impl Parser<'_> {
    fn term(&mut self) -> Result<Term, FilterError> {
        let mut negated = false;
        if let Some(rest) = self.rest().strip_prefix("not")
            && rest.starts_with(char::is_whitespace)
        {
            self.at += "not".len();
            self.skip_spaces();
            negated = true;
        }
        if self.rest().starts_with('-') {
            self.at += 1;
            negated = !negated;
        }
        let mut parts = self.parts()?;
        if parts.sign == Sign::NotEqual {
            parts.sign = Sign::Compare(Comparison::Equal);
            negated = !negated;
        }
        let condition = self.condition(&parts)?;
        Ok(Term { negated, condition })
    }

    fn parts(&mut self) -> Result<Parts, FilterError> {
        let start = self.at;
        let is_key = |character: char| character.is_alphanumeric() || "_.-".contains(character);
        let key: String = self.rest().chars().take_while(|character| is_key(*character)).collect();
        self.at += key.len();
        let key_span = start..self.at;
        let sign = SIGNS.into_iter().find(|(text, _)| self.rest().starts_with(text));
        let Some((sign_text, sign)) = sign else {
            let word: String = self.text[start..]
                .chars()
                .take_while(|character| !character.is_whitespace())
                .collect();
            let hint =
                format!("a condition is like 'status:failed'; to search write 'text:{word}'");
            let span = start..start + word.len();
            return Err(self.error(span, format!("'{word}' is no condition"), hint));
        };
        if key.is_empty() {
            let message = format!("a key is missing before '{sign_text}'");
            return Err(self.error(start..start + sign_text.len(), message, keys_hint("")));
        }
        let sign_span = self.at..self.at + sign_text.len();
        self.at = sign_span.end;
        let mut values = vec![self.value()?];
        while self.rest().starts_with(',') {
            self.at += 1;
            if values.len() == limits::FILTER_VALUES_MAX {
                let hint = format!("{} are allowed", limits::FILTER_VALUES_MAX);
                let message = "there are too many values".to_owned();
                return Err(self.error(sign_span.end..self.at, message, hint));
            }
            values.push(self.value()?);
        }
        Ok(Parts { key, key_span, sign, sign_span, values })
    }

    fn value(&mut self) -> Result<Value, FilterError> {
        let start = self.at;
        let mut parts = vec![String::new()];
        let mut is_quoted = false;
        while let Some(character) = self.rest().chars().next() {
            match character {
                '"' => {
                    is_quoted = true;
                    let text = self.quoted()?;
                    append(&mut parts, &text);
                    continue;
                }
                '*' => parts.push(String::new()),
                '\\' => {
                    let message = "a backslash stands only within quotes".to_owned();
                    let hint = r#"write "a\\b" for a\b"#.to_owned();
                    return Err(self.error(self.at..self.at + 1, message, hint));
                }
                other if is_bare(other) => append(&mut parts, other.encode_utf8(&mut [0; 4])),
                _end => break,
            }
            self.at += character.len_utf8();
        }
        if self.at == start {
            let hint = "for an empty text write two quotes".to_owned();
            return Err(self.error(start..start, "a value is missing".to_owned(), hint));
        }
        let bare = (!is_quoted && parts.len() == 1).then(|| parts.concat());
        Ok(Value { span: start..self.at, pattern: Pattern::of_parts(parts), bare })
    }

    /// The text between two quotes.
    fn quoted(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((place, character)) = characters.next() {
            match character {
                '"' => {
                    self.at += place + 1;
                    return Ok(text);
                }
                '\\' => match characters.next() {
                    Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, other)) => {
                        let span = start + place..start + place + 1 + other.len_utf8();
                        let hint = r#"within quotes there are \" \\ \n \r and \t"#.to_owned();
                        return Err(self.error(span, format!("'\\{other}' is unknown"), hint));
                    }
                    None => break,
                },
                other => text.push(other),
            }
        }
        let hint = "write a quote within quotes as \\\"".to_owned();
        Err(self.error(start..self.text.len(), "the quote does not end".to_owned(), hint))
    }

    fn condition(&self, parts: &Parts) -> Result<Condition, FilterError> {
        if let Some(name) = parts.key.strip_prefix(ATTRIBUTE_PREFIX).filter(|name| !name.is_empty())
        {
            return Ok(Condition::Attribute(name.to_owned(), self.attribute(parts)?));
        }
        match parts.key.as_str() {
            "id" => self.text_condition(parts, TextField::Id),
            "name" => self.text_condition(parts, TextField::Name),
            "version" => self.text_condition(parts, TextField::Version),
            "parent" => self.text_condition(parts, TextField::Parent),
            "custom" => self.text_condition(parts, TextField::CustomStatus),
            "error" => self.text_condition(parts, TextField::Error),
            "pin" => self.text_condition(parts, TextField::Pin),
            "status" => {
                let words = RowStatus::ALL.map(RowStatus::as_str);
                Ok(Condition::Status(self.words(parts, &words, RowStatus::parse)?))
            }
            "category" => {
                let words = ErrorCategory::ALL.map(ErrorCategory::as_str);
                Ok(Condition::Category(self.words(parts, &words, ErrorCategory::parse)?))
            }
            "created" => self.time(parts, TimeField::Created),
            "updated" => self.time(parts, TimeField::Updated),
            "ended" => self.time(parts, TimeField::Ended),
            "duration" => self.duration(parts),
            "executions" => self.executions(parts),
            "text" => self.anywhere(parts),
            other => {
                let message = format!("there is no key '{other}'");
                Err(self.error(parts.key_span.clone(), message, keys_hint(other)))
            }
        }
    }

    fn text_condition(&self, parts: &Parts, field: TextField) -> Result<Condition, FilterError> {
        let test = match parts.sign {
            Sign::Contains => TextTest::Contains(self.contained(parts)?),
            Sign::Compare(Comparison::Equal) => {
                let value = |value: &Value| match value.bare.as_deref() {
                    Some(NONE) => TextValue::Missing,
                    Some(ANY) => TextValue::Present,
                    Some(_) | None => TextValue::Like(value.pattern.clone()),
                };
                TextTest::OneOf(parts.values.iter().map(value).collect())
            }
            Sign::Compare(_) | Sign::NotEqual => return Err(self.wrong_sign(parts, ":, != or ~")),
        };
        Ok(Condition::Text(field, test))
    }

    fn attribute(&self, parts: &Parts) -> Result<AttributeTest, FilterError> {
        let literal =
            |value: &Value| AttributeLiteral::new(value.pattern.clone(), value.bare.clone());
        match parts.sign {
            Sign::Contains => Ok(AttributeTest::Contains(self.contained(parts)?)),
            Sign::Compare(Comparison::Equal) => match parts.values.as_slice() {
                [Value { bare: Some(word), .. }] if word == ANY => Ok(AttributeTest::Present),
                [Value { bare: Some(word), .. }] if word == NONE => Ok(AttributeTest::Missing),
                values => Ok(AttributeTest::OneOf(values.iter().map(literal).collect())),
            },
            Sign::Compare(comparison) => {
                let value = self.only(parts)?;
                if value.pattern.as_exact().is_none() {
                    let hint = "a '*' goes with ':' or '='".to_owned();
                    let message = "a pattern has no order".to_owned();
                    return Err(self.error(value.span.clone(), message, hint));
                }
                Ok(AttributeTest::Compare(comparison, literal(value)))
            }
            Sign::NotEqual => Err(self.wrong_sign(parts, "=, !=, <, <=, >, >= or ~")),
        }
    }

    fn words<T>(
        &self,
        parts: &Parts,
        known: &[&str],
        read: fn(&str) -> Option<T>,
    ) -> Result<Vec<T>, FilterError> {
        if parts.sign != Sign::Compare(Comparison::Equal) {
            return Err(self.wrong_sign(parts, ": or !="));
        }
        let word = |value: &Value| {
            let text = &self.text[value.span.clone()];
            value.pattern.as_exact().and_then(read).ok_or_else(|| {
                let meant = nearest(text, known.iter().copied());
                let hint = meant.map_or_else(String::new, |it| format!("did you mean '{it}'? "));
                let hint = format!("{hint}values are {}", known.join(", "));
                let message = format!("there is no {} '{text}'", parts.key);
                self.error(value.span.clone(), message, hint)
            })
        };
        parts.values.iter().map(word).collect()
    }

    fn time(&self, parts: &Parts, field: TimeField) -> Result<Condition, FilterError> {
        let comparison = self.order(parts)?;
        let value = self.only(parts)?;
        let point = value.bare.as_deref().and_then(TimePoint::parse).ok_or_else(|| {
            let message = format!("'{}' is no time", &self.text[value.span.clone()]);
            let hint = "write -1h30m, -7d, now, 2026-01-31, 2026-01-31T12:00:00Z or milliseconds \
                        since 1970";
            self.error(value.span.clone(), message, hint.to_owned())
        })?;
        Ok(Condition::Time(field, comparison, point))
    }

    fn duration(&self, parts: &Parts) -> Result<Condition, FilterError> {
        let comparison = self.order(parts)?;
        let value = self.only(parts)?;
        let length = value.bare.as_deref().and_then(parse_length).ok_or_else(|| {
            let message = format!("'{}' is no length of time", &self.text[value.span.clone()]);
            let hint = "write 250ms, 90s, 1h30m, 2d or 1w".to_owned();
            self.error(value.span.clone(), message, hint)
        })?;
        Ok(Condition::Duration(comparison, length))
    }

    fn executions(&self, parts: &Parts) -> Result<Condition, FilterError> {
        let Sign::Compare(comparison) = parts.sign else {
            return Err(self.wrong_sign(parts, ":, !=, <, <=, > or >="));
        };
        let value = self.only(parts)?;
        let number = value.bare.as_ref().and_then(|text| text.parse().ok()).ok_or_else(|| {
            let message = format!("'{}' is no number", &self.text[value.span.clone()]);
            self.error(value.span.clone(), message, "write 1 or more".to_owned())
        })?;
        Ok(Condition::Executions(comparison, number))
    }

    fn anywhere(&self, parts: &Parts) -> Result<Condition, FilterError> {
        let is_fit = matches!(parts.sign, Sign::Contains | Sign::Compare(Comparison::Equal));
        if !is_fit {
            return Err(self.wrong_sign(parts, ": or ~"));
        }
        let texts = parts.values.iter().map(|value| self.plain(value)).collect::<Result<_, _>>()?;
        Ok(Condition::Anywhere(texts))
    }

    /// The text behind `~`.
    fn contained(&self, parts: &Parts) -> Result<String, FilterError> {
        self.plain(self.only(parts)?)
    }

    /// A text that is searched for and not matched.
    fn plain(&self, value: &Value) -> Result<String, FilterError> {
        value.pattern.as_exact().map(str::to_owned).ok_or_else(|| {
            let hint = "leave it out, or put it in quotes to search for it".to_owned();
            let message = "a '*' is not needed to search within a text".to_owned();
            self.error(value.span.clone(), message, hint)
        })
    }

    fn order(&self, parts: &Parts) -> Result<Comparison, FilterError> {
        match parts.sign {
            Sign::Compare(Comparison::Equal) | Sign::Contains | Sign::NotEqual => {
                Err(self.wrong_sign(parts, ">, >=, < or <="))
            }
            Sign::Compare(comparison) => Ok(comparison),
        }
    }

    fn only<'a>(&self, parts: &'a Parts) -> Result<&'a Value, FilterError> {
        let [value, others @ ..] = parts.values.as_slice() else {
            return Err(self.error(
                parts.sign_span.clone(),
                "a value is missing".to_owned(),
                String::new(),
            ));
        };
        if let Some(other) = others.first() {
            let message = "only one value is possible here".to_owned();
            let hint = "put a text with a comma in quotes".to_owned();
            return Err(self.error(other.span.clone(), message, hint));
        }
        Ok(value)
    }

    fn wrong_sign(&self, parts: &Parts, right: &str) -> FilterError {
        let sign = &self.text[parts.sign_span.clone()];
        let message = format!("'{sign}' does not go with '{}'", parts.key);
        self.error(parts.sign_span.clone(), message, format!("use {right}"))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_spaces(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error(&self, span: Span, message: String, hint: String) -> FilterError {
        // A text that is far too long need not be repeated as a whole.
        let kept = (0..=self.text.len().min(limits::FILTER_BYTES_MAX + 1))
            .rev()
            .find(|place| self.text.is_char_boundary(*place));
        let text = self.text[..kept.unwrap_or_default()].to_owned();
        FilterError { text, position: span.start, length: span.len(), message, hint }
    }
}

fn append(parts: &mut [String], text: &str) {
    if let Some(last) = parts.last_mut() {
        last.push_str(text);
    }
}

fn keys_hint(word: &str) -> String {
    let meant = nearest(word, KEYS.into_iter());
    let hint = meant.map_or_else(String::new, |it| format!("did you mean '{it}'? "));
    format!("{hint}keys are {}, {ATTRIBUTE_PREFIX}<name>", KEYS.join(", "))
}

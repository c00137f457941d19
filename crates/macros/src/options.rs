//! The options of the attributes.

use std::time::Duration;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::meta::ParseNestedMeta;
use syn::parse::Parser;
use syn::{Error, Lit, LitStr, Path, Result, Token, parenthesized, punctuated::Punctuated};

use crate::retry::RetryOptions;
use crate::time::duration;

const EXPECTED_VERSION: &str = "expected a semantic version such as \"1.0.0\"";

/// Which of the two attributes it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Activity,
    Orchestration,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Orchestration => "orchestration",
        }
    }

    pub(crate) fn context(self) -> &'static str {
        match self {
            Self::Activity => "ActivityContext",
            Self::Orchestration => "OrchestrationContext",
        }
    }

    pub(crate) fn wrong_item(self) -> &'static str {
        match self {
            Self::Activity => "#[activity] belongs on an `async fn` or on an `impl` block",
            Self::Orchestration => "#[orchestration] belongs on an `async fn`",
        }
    }
}

/// The options of one attribute.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) version: Option<LitStr>,
    pub(crate) calls: Vec<Path>,
    pub(crate) children: Vec<Path>,
    pub(crate) elsewhere: bool,
    tag: Option<LitStr>,
    timeout: Option<Duration>,
    schedule_to_start: Option<Duration>,
    retry: Option<RetryOptions>,
    krate: Option<Path>,
}

impl Options {
    pub(crate) fn parse(kind: Kind, tokens: TokenStream) -> Result<Self> {
        let mut options = Self::default();
        let parser = syn::meta::parser(|meta| match kind {
            Kind::Activity => options.activity_option(&meta),
            Kind::Orchestration => options.orchestration_option(&meta),
        });
        parser.parse2(tokens)?;
        Ok(options)
    }

    fn activity_option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word(meta).as_str() {
            "tag" => once(&mut self.tag, meta, not_empty(meta.value()?.parse()?)?),
            "timeout" => once(&mut self.timeout, meta, duration(meta)?),
            "schedule_to_start" => once(&mut self.schedule_to_start, meta, duration(meta)?),
            "retry" => once(&mut self.retry, meta, RetryOptions::parse(meta)?),
            "elsewhere" => {
                self.elsewhere = true;
                Ok(())
            }
            _ => self.common_option(
                meta,
                "`name`, `timeout`, `schedule_to_start`, `tag`, `retry(…)`, `elsewhere`, `crate`",
            ),
        }
    }

    fn orchestration_option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word(meta).as_str() {
            "version" => once(&mut self.version, meta, version(meta)?),
            "calls" => paths(meta).map(|paths| self.calls.extend(paths)),
            "children" => paths(meta).map(|paths| self.children.extend(paths)),
            _ => self.common_option(meta, "`name`, `version`, `calls(…)`, `children(…)`, `crate`"),
        }
    }

    fn common_option(&mut self, meta: &ParseNestedMeta<'_>, known: &str) -> Result<()> {
        match word(meta).as_str() {
            "name" => once(&mut self.name, meta, not_empty(meta.value()?.parse()?)?),
            "crate" => {
                let path = meta.value()?.call(Path::parse_mod_style)?;
                once(&mut self.krate, meta, path)
            }
            unknown => Err(meta.error(format!("unknown option `{unknown}`: use {known}"))),
        }
    }

    /// Where the crate is.
    pub(crate) fn krate(&self) -> TokenStream {
        match &self.krate {
            Some(path) => path.to_token_stream(),
            None => quote!(::duroxide),
        }
    }

    /// Where the crate is, for code whose errors point at `span`: an error points at the attribute
    /// if one token of its code does.
    pub(crate) fn krate_at(&self, span: Span) -> TokenStream {
        let mut tokens: Vec<TokenTree> = self.krate().into_iter().collect();
        tokens.iter_mut().for_each(|token| token.set_span(span.resolved_at(token.span())));
        tokens.into_iter().collect()
    }

    /// Options of a method, which are written in the crate of its block.
    pub(crate) fn with_krate_of(mut self, block: &Self) -> Self {
        self.krate = self.krate.or_else(|| block.krate.clone());
        self
    }

    /// The options of calls as an expression.
    pub(crate) fn call_options(&self) -> TokenStream {
        let krate = self.krate();
        let mut options = quote!(#krate::typed::CallOptions::new());
        if let Some(tag) = &self.tag {
            options.extend(quote!(.with_tag(#tag)));
        }
        if let Some(limit) = self.timeout.map(millis) {
            options.extend(quote!(.with_timeout(#limit)));
        }
        if let Some(limit) = self.schedule_to_start.map(millis) {
            options.extend(quote!(.with_schedule_to_start(#limit)));
        }
        if let Some(retry) = &self.retry {
            let retry = retry.expression(&krate);
            options.extend(quote!(.with_retry(#retry)));
        }
        options
    }
}

/// A duration as an expression.
pub(crate) fn millis(duration: Duration) -> TokenStream {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    quote!(::core::time::Duration::from_millis(#millis))
}

/// The name of an option.
pub(crate) fn word(meta: &ParseNestedMeta<'_>) -> String {
    meta.path.get_ident().map(ToString::to_string).unwrap_or_default()
}

/// Sets an option that may be given once.
pub(crate) fn once<T>(option: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(meta.error(format!("`{}` is given twice", word(meta)))),
    }
}

fn not_empty(text: LitStr) -> Result<LitStr> {
    if text.value().trim().is_empty() {
        return Err(Error::new(text.span(), "this text must not be empty"));
    }
    Ok(text)
}

fn paths(meta: &ParseNestedMeta<'_>) -> Result<Vec<Path>> {
    let content;
    parenthesized!(content in meta.input);
    let paths = Punctuated::<Path, Token![,]>::parse_terminated(&content)?;
    Ok(paths.into_iter().collect())
}

fn version(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let text = text(meta, EXPECTED_VERSION)?;
    let value = text.value();
    let numbers = value.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<&str> = numbers.split('.').collect();
    let is_number = |part: &&str| {
        part.parse::<u64>().is_ok()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && (part.len() == 1 || !part.starts_with('0'))
    };
    if parts.len() == 3 && parts.iter().all(is_number) {
        return Ok(text);
    }
    Err(Error::new(text.span(), EXPECTED_VERSION))
}

/// The value of an option that is a text; `expected` says so to users who wrote something else.
pub(crate) fn text(meta: &ParseNestedMeta<'_>, expected: &str) -> Result<LitStr> {
    let value: Lit = meta.value()?.parse()?;
    if let Lit::Str(text) = value { Ok(text) } else { Err(Error::new_spanned(value, expected)) }
}

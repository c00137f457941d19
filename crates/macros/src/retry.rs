//! The option `retry(…)`.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::quote;
use syn::meta::ParseNestedMeta;
use syn::{Error, Lit, LitInt, Result};

use crate::options::{millis, once, word};
use crate::time::duration;

/// The shortest pause, if only the longest one is named.
const BACKOFF_DEFAULT: Duration = Duration::from_millis(100);

/// The longest pause, if only the shortest one is named.
const BACKOFF_MAX_DEFAULT: Duration = Duration::from_secs(30);

/// The options of `retry(…)`.
#[derive(Default)]
pub(crate) struct RetryOptions {
    attempts: Option<u32>,
    backoff: Option<Duration>,
    max: Option<Duration>,
    fixed: Option<Duration>,
    jitter: Option<f64>,
    deadline: Option<Duration>,
    timeouts: bool,
}

impl RetryOptions {
    pub(crate) fn parse(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let mut options = Self::default();
        meta.parse_nested_meta(|meta| options.option(&meta))?;
        if options.fixed.is_some() && (options.backoff.is_some() || options.max.is_some()) {
            return Err(meta.error("`fixed` excludes `backoff` and `max`"));
        }
        if options.attempts.is_none() && options.deadline.is_none() {
            return Err(meta.error("retry needs an end: `attempts`, `deadline`, or both"));
        }
        Ok(options)
    }

    fn option(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        match word(meta).as_str() {
            "attempts" => once(&mut self.attempts, meta, attempts(meta)?),
            "backoff" => once(&mut self.backoff, meta, duration(meta)?),
            "max" => once(&mut self.max, meta, duration(meta)?),
            "fixed" => once(&mut self.fixed, meta, duration(meta)?),
            "jitter" => once(&mut self.jitter, meta, fraction(meta)?),
            "deadline" => once(&mut self.deadline, meta, duration(meta)?),
            "timeouts" => {
                self.timeouts = true;
                Ok(())
            }
            unknown => Err(meta.error(format!(
                "unknown option `{unknown}` of retry: use `attempts`, `backoff`, `max`, `fixed`, \
                 `jitter`, `deadline`, `timeouts`"
            ))),
        }
    }

    /// The policy as an expression.
    pub(crate) fn expression(&self, krate: &TokenStream) -> TokenStream {
        let mut policy = match self.attempts {
            Some(attempts) => quote!(#krate::typed::Retry::new(#attempts)),
            None => quote!(#krate::typed::Retry::unlimited()),
        };
        if let Some(delay) = self.fixed.map(millis) {
            policy.extend(quote!(.with_fixed_backoff(#delay)));
        } else if self.backoff.is_some() || self.max.is_some() {
            let base = self.backoff.unwrap_or(BACKOFF_DEFAULT);
            // A first pause that is longer than the default of the longest one means what it says.
            let max = self.max.unwrap_or(BACKOFF_MAX_DEFAULT.max(base));
            let (base, max) = (millis(base), millis(max));
            policy.extend(quote!(.with_exponential_backoff(#base, #max)));
        }
        if let Some(jitter) = self.jitter {
            policy.extend(quote!(.with_jitter(#jitter)));
        }
        if let Some(deadline) = self.deadline.map(millis) {
            policy.extend(quote!(.with_deadline(#deadline)));
        }
        if self.timeouts {
            policy.extend(quote!(.with_timeouts_retried()));
        }
        policy
    }
}

fn attempts(meta: &ParseNestedMeta<'_>) -> Result<u32> {
    let number: LitInt = meta.value()?.parse()?;
    match number.base10_parse() {
        Ok(0) => Err(Error::new(number.span(), "there is at least one attempt")),
        parsed => parsed,
    }
}

fn fraction(meta: &ParseNestedMeta<'_>) -> Result<f64> {
    let number: Lit = meta.value()?.parse()?;
    if let Lit::Float(float) = &number
        && let fraction = float.base10_parse()?
        && (0.0..=1.0).contains(&fraction)
    {
        return Ok(fraction);
    }
    let message = "jitter is a fraction of the pause, from 0.0 to 1.0";
    Err(Error::new_spanned(number, message))
}

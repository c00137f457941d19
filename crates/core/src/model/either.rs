//! Which of two or three futures came first.

/// The winner of a race of two.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::OrchestrationContext;
/// use duroxide::model::Either2;
///
/// async fn fastest(ctx: OrchestrationContext, item: String) -> Result<String, String> {
///     let one = ctx.schedule_activity("AskOne", item.clone());
///     let other = ctx.schedule_activity("AskOther", item);
///     match ctx.select2(one, other).await {
///         Either2::First(price) | Either2::Second(price) => price,
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Either2<A, B> {
    /// The first argument won.
    First(A),
    /// The second argument won.
    Second(B),
}

impl<A, B> Either2<A, B> {
    /// Whether the first argument won.
    pub fn is_first(&self) -> bool {
        matches!(self, Self::First(_))
    }

    /// Whether the second argument won.
    pub fn is_second(&self) -> bool {
        matches!(self, Self::Second(_))
    }

    /// Zero-based position of the winner.
    pub fn index(&self) -> usize {
        match self {
            Self::First(_) => 0,
            Self::Second(_) => 1,
        }
    }
}

impl<T> Either2<T, T> {
    /// Position and value of the winner.
    pub fn into_tuple(self) -> (usize, T) {
        match self {
            Self::First(value) => (0, value),
            Self::Second(value) => (1, value),
        }
    }
}

/// The winner of a race of three.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::OrchestrationContext;
/// use duroxide::model::Either3;
///
/// async fn decision(ctx: OrchestrationContext, _order: String) -> Result<String, String> {
///     let (yes, no) = (ctx.schedule_wait("approved"), ctx.schedule_wait("rejected"));
///     match ctx.select3(yes, no, ctx.cancelled()).await {
///         Either3::First(by) => Ok(format!("approved by {by}")),
///         Either3::Second(by) => Err(format!("rejected by {by}")),
///         Either3::Third(request) => Err(request.reason),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Either3<A, B, C> {
    /// The first argument won.
    First(A),
    /// The second argument won.
    Second(B),
    /// The third argument won.
    Third(C),
}

impl<A, B, C> Either3<A, B, C> {
    /// Zero-based position of the winner.
    pub fn index(&self) -> usize {
        match self {
            Self::First(_) => 0,
            Self::Second(_) => 1,
            Self::Third(_) => 2,
        }
    }
}

impl<T> Either3<T, T, T> {
    /// Position and value of the winner.
    pub fn into_tuple(self) -> (usize, T) {
        match self {
            Self::First(value) => (0, value),
            Self::Second(value) => (1, value),
            Self::Third(value) => (2, value),
        }
    }
}

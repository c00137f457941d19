//! Which of two or three futures came first.

/// The winner of a race of two.
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

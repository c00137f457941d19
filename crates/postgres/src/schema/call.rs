//! Calls of SQL functions with arguments by name: the function's own declaration gives their order.

use std::sync::Arc;

use tokio_postgres::types::ToSql;

use crate::error::JobError;
use crate::schema::functions;
use crate::schema::namespace::Schema;

/// The value of one parameter.
pub(crate) type Argument<'a> = (&'static str, &'a (dyn ToSql + Sync));

/// A call that is ready to run.
pub(crate) struct Call<'a> {
    pub(crate) sql: Arc<str>,
    pub(crate) values: Vec<&'a (dyn ToSql + Sync)>,
}

impl<'a> Call<'a> {
    /// Puts the arguments into the order of the function's parameters.
    pub(crate) fn new(
        schema: &Schema,
        function: &'static str,
        arguments: &[Argument<'a>],
    ) -> Result<Self, JobError> {
        let values = bind(function, arguments)?;
        Ok(Self { sql: schema.call(function), values })
    }
}

fn bind<'a>(
    function: &str,
    arguments: &[Argument<'a>],
) -> Result<Vec<&'a (dyn ToSql + Sync)>, JobError> {
    let broken = |what: &str| JobError::Broken(format!("call of {function}: {what}"));
    let parameters =
        &functions::find(function).ok_or_else(|| broken("no such function"))?.parameters;
    if arguments.len() != parameters.len() {
        return Err(broken("the number of arguments is wrong"));
    }
    let value = |(index, parameter): (usize, &String)| {
        // Callers usually list them in the order of the declaration.
        let expected = arguments.get(index).filter(|(name, _)| name == parameter);
        let found = expected.or_else(|| arguments.iter().find(|(name, _)| name == parameter));
        found.map(|(_, value)| *value).ok_or_else(|| broken(&format!("{parameter} is missing")))
    };
    parameters.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arguments: &[Argument<'_>]) -> Result<Vec<String>, JobError> {
        let bound = bind("renew_work", arguments)?;
        Ok(bound.iter().map(|value| format!("{value:?}")).collect())
    }

    #[test]
    fn arguments_are_found_by_name() {
        let mixed: [Argument<'_>; 5] = [
            ("p_token", &"token"),
            ("p_extend_for", &30),
            ("p_expired", &true),
            ("p_now", &1),
            ("p_id", &2),
        ];
        assert_eq!(order(&mixed).unwrap(), ["1", "2", "\"token\"", "30", "true"]);
    }

    #[test]
    fn a_missing_or_surplus_argument_is_an_error() {
        let mut arguments: Vec<Argument<'_>> = vec![
            ("p_now", &1),
            ("p_id", &2),
            ("p_token", &"token"),
            ("extend_for", &30),
            ("p_expired", &true),
        ];
        let error = order(&arguments).unwrap_err().to_string();
        assert!(error.contains("p_extend_for is missing"), "{error}");
        arguments.push(("p_extend_for", &30));
        assert!(order(&arguments).is_err());
    }
}

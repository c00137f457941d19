//! The language as a whole.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::limits;
use crate::model::{AppErrorKind, AttributeValue, ErrorDetails};

fn filter(text: &str) -> Filter {
    Filter::parse(text).unwrap_or_else(|error| panic!("{}", error.caret()))
}

fn failed_order() -> InstanceRow {
    let mut row = InstanceRow::new("order-7", "OrderItem", RowStatus::Failed).with_times(
        1_000_000,
        1_500_000,
        Some(1_600_000),
        2_000_000,
    );
    row.orchestration_version = "1.2.0".to_owned();
    row.executions = 3;
    row.custom_status = Some("charging card".to_owned());
    row.error = Some(InstanceFailure::new(
        Some(ErrorCategory::Application),
        "Connection Timeout after 30s",
    ));
    row.pin = Some("0.2.0".to_owned());
    row.attributes.insert("customer".to_owned(), AttributeValue::Integer(42));
    row.attributes.insert("region".to_owned(), AttributeValue::from("eu-west"));
    row.attributes.insert("weight".to_owned(), AttributeValue::Float(1.5));
    row.attributes.insert("rush".to_owned(), AttributeValue::Bool(true));
    row.attributes.insert("due".to_owned(), AttributeValue::Time(1_990_000));
    row
}

#[test]
fn every_kind_of_condition_holds_or_not() {
    let row = failed_order();
    for (text, holds) in [
        ("", true),
        ("status:failed name:Order* error~\"timeout\" attr.customer=42 parent:none", true),
        ("status:completed,failed", true),
        ("-status:failed", false),
        ("not status:running", true),
        ("not -status:failed", true),
        ("status!=failed", false),
        ("id:order-7", true),
        ("id:order-*", true),
        ("id:\"order-*\"", false),
        ("id:*7,other", true),
        ("name:orderitem", false),
        ("name~orderitem", true),
        ("version:1.*", true),
        ("parent:any", false),
        ("custom:\"charging \"*", true),
        ("custom:none", false),
        ("error:any", true),
        ("error~TIMEOUT", true),
        ("category:application", true),
        ("category:poison,cancelled", false),
        ("pin:0.2.*", true),
        ("created>1970-01-01T00:16:39Z", true),
        ("created>-1000s", false),
        ("created>=-1000s", true),
        ("updated<now", true),
        ("ended<=-400s", true),
        ("duration>10m", false),
        ("duration>=10m", true),
        ("executions:3", true),
        ("executions>3", false),
        ("executions!=3", false),
        ("attr.customer=41", false),
        ("attr.customer>41.5", true),
        ("attr.customer<=42", true),
        ("attr.customer:\"42\"", false),
        ("attr.customer!=42", false),
        ("attr.nothing!=42", true),
        ("attr.nothing:none", true),
        ("attr.customer:any", true),
        ("attr.region:eu-*", true),
        ("attr.region~WEST", true),
        ("attr.region>eu-a", true),
        ("attr.region=us-east,eu-west", true),
        ("attr.weight=1.5", true),
        ("attr.weight>=2", false),
        ("attr.rush=true", true),
        ("attr.rush=1", false),
        ("attr.due<now", true),
        ("attr.due>-5s", false),
        ("text:CHARGING", true),
        ("text:\"west\"", true),
        ("text:nowhere,timeout", true),
        ("text:nowhere", false),
    ] {
        assert_eq!(filter(text).matches(&row, 2_000_000), holds, "{text}");
    }
}

#[test]
fn a_fact_that_is_missing_meets_no_condition_on_it() {
    let row = InstanceRow::new("a", "A", RowStatus::Running).with_times(5, 5, Some(9), 10);
    assert_eq!((row.ended_at_ms, row.duration_ms), (None, 5));
    for text in ["ended<now", "ended>-1w", "error~x", "category:poison", "pin:*", "attr.x<5"] {
        assert!(!filter(text).matches(&row, 10), "{text}");
        assert!(filter(&format!("-{text}")).matches(&row, 10), "-{text}");
    }
}

#[test]
fn a_mistake_is_shown_at_its_place() {
    for (text, position, length, part) in [
        ("stauts:failed", 0, 6, "did you mean 'status'?"),
        ("name:a colour:red", 7, 6, "keys are id, name"),
        ("status:failed,done", 14, 4, "values are running, suspended, completed, failed"),
        ("status:fail", 7, 4, "did you mean 'failed'?"),
        ("status>failed", 6, 1, "use : or !="),
        ("created:-1h", 7, 1, "use >, >=, < or <="),
        ("created>1h", 8, 2, "write -1h30m"),
        ("created>-1h,-2h", 12, 3, "only one value"),
        ("duration>5", 9, 1, "write 250ms"),
        ("duration<\"5s\"", 9, 4, "no length of time"),
        ("executions:many", 11, 4, "no number"),
        ("failed", 0, 6, "text:failed"),
        ("name:a  failed", 8, 6, "no condition"),
        (":x", 0, 1, "a key is missing"),
        ("name:", 5, 0, "two quotes"),
        ("name:a,", 7, 0, "two quotes"),
        ("name:\"a", 5, 2, "does not end"),
        ("name:\"a\\", 5, 3, "does not end"),
        ("name:\"a\\x\"", 7, 2, "is unknown"),
        ("name:a\\b", 6, 1, "only within quotes"),
        ("error~a*b", 6, 3, "not needed"),
        ("name>a", 4, 1, "use :, != or ~"),
        ("attr.:5", 0, 5, "no key 'attr.'"),
        ("attr.x>a*", 7, 2, "a pattern has no order"),
        ("é:x", 0, 2, "no key 'é'"),
        ("name:é ü:x", 8, 2, "no key 'ü'"),
    ] {
        let error = Filter::parse(text).unwrap_err();
        assert_eq!((error.position, error.length), (position, length), "{text}: {error}");
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert!(error.caret().lines().nth(1).unwrap().contains('^'), "{text}");
    }
    let shown = Filter::parse("name:é ü:x").unwrap_err().caret();
    assert!(shown.starts_with("name:é ü:x\n       ^ there is no key 'ü'\n"), "{shown}");
}

#[test]
fn length_and_numbers_are_bounded() {
    let long = format!("name:{}", "é".repeat(limits::FILTER_BYTES_MAX));
    let error = Filter::parse(&long).unwrap_err();
    assert!(error.to_string().contains("4096 are allowed"), "{error}");
    assert!(error.text.len() <= limits::FILTER_BYTES_MAX + 1);
    assert!(error.caret().contains("bytes"));
    let most = "id:a ".repeat(limits::FILTER_TERMS_MAX);
    assert_eq!(filter(&most).terms().len(), limits::FILTER_TERMS_MAX);
    let error = Filter::parse(&format!("{most} id:b")).unwrap_err();
    assert_eq!(error.position, most.len() + 1);
    let values = vec!["a"; limits::FILTER_VALUES_MAX].join(",");
    filter(&format!("id:{values}"));
    Filter::parse(&format!("id:{values},b")).unwrap_err();
}

#[test]
fn a_filter_is_printed_in_one_form() {
    for (text, printed) in [
        ("  status = failed".trim(), None),
        ("status=failed", Some("status:failed")),
        ("name!=\"a b\"", Some("-name:\"a b\"")),
        ("not attr.x:5", Some("-attr.x=5")),
        ("attr.x=\"5\"", Some("attr.x=\"5\"")),
        ("created>-90m", Some("created>-1h30m")),
        ("created>=2026-01-31", Some("created>=2026-01-31T00:00:00Z")),
        ("duration<0ms", Some("duration<0s")),
        ("text~x", Some("text:x")),
        ("parent:none,\"none\"", Some("parent:none,\"none\"")),
        ("name:a*\" b\"*", Some("name:a*\" b\"*")),
    ] {
        match (Filter::parse(text), printed) {
            (Ok(parsed), Some(printed)) => {
                assert_eq!(parsed.to_string(), printed);
                assert_eq!(filter(printed), parsed);
            }
            (Err(_), None) => {}
            (parsed, _) => panic!("{text}: {parsed:?}"),
        }
    }
}

#[test]
fn a_filter_can_be_built() {
    let built = Filter::all()
        .and(Condition::Status(vec![RowStatus::Failed]))
        .and(Term::not(Condition::Text(
            TextField::Name,
            TextTest::OneOf(vec![TextValue::Like(Pattern::new("Order*"))]),
        )))
        .and(Condition::Time(
            TimeField::Created,
            Comparison::Greater,
            TimePoint::Ago(Duration::from_secs(3600)),
        ))
        .and(Condition::Attribute(
            "customer".to_owned(),
            AttributeTest::OneOf(vec![AttributeLiteral::of(&AttributeValue::Integer(42))]),
        ));
    let text = "status:failed -name:Order* created>-1h attr.customer=42";
    assert_eq!(built.to_string(), text);
    assert_eq!(built, filter(text));
    assert!(Filter::all().is_empty());
}

#[test]
fn a_cancelled_instance_has_a_category_of_its_own() {
    let details = ErrorDetails::Application {
        kind: AppErrorKind::Cancelled { reason: "too late".to_owned() },
        message: String::new(),
        retryable: false,
    };
    assert_eq!(ErrorCategory::of(&details), ErrorCategory::Cancelled);
    for category in ErrorCategory::ALL {
        assert_eq!(ErrorCategory::parse(category.as_str()), Some(category));
        assert_eq!(serde_json::to_string(&category).unwrap(), format!("\"{category}\""));
    }
}

#[test]
fn the_json_of_a_row_is_stable() {
    let json = serde_json::to_string(&failed_order()).unwrap();
    let expected = r#"{"instance_id":"order-7","orchestration_name":"OrderItem","#.to_owned()
        + r#""orchestration_version":"1.2.0","status":"failed","parent_instance_id":null,"#
        + r#""executions":3,"created_at_ms":1000000,"updated_at_ms":1500000,"#
        + r#""ended_at_ms":1600000,"duration_ms":600000,"custom_status":"charging card","#
        + r#""error":{"category":"application","message":"Connection Timeout after 30s"},"#
        + r#""suspended_reason":null,"pin":"0.2.0","attributes":{"customer":42,"#
        + r#""due":"1970-01-01T00:33:10Z","region":"eu-west","rush":true,"weight":1.5},"#
        + r#""waiting_for":null}"#;
    assert_eq!(json, expected);
}

#[test]
fn a_stored_status_becomes_one_of_four() {
    for (stored, is_suspended, status) in [
        ("Running", false, RowStatus::Running),
        ("Running", true, RowStatus::Suspended),
        ("ContinuedAsNew", false, RowStatus::Completed),
        ("Completed", true, RowStatus::Completed),
        ("Failed", false, RowStatus::Failed),
        ("Unknown", false, RowStatus::Running),
    ] {
        assert_eq!(RowStatus::of_stored(stored, is_suspended), status);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_without_a_panic(text in ".{0,60}") {
        if let Err(error) = Filter::parse(&text) {
            prop_assert!(error.position <= text.len());
            prop_assert!(error.caret().contains('^'));
        }
    }

    #[test]
    fn what_is_printed_is_read_back(
        text in concat!(
            r#"(-?(id|name|error|custom|parent|attr\.x|text)(:|=|~|!=)"#,
            r#"("[ -~é]{0,6}"|[a-z0-9é*=<:.-]{1,6})(,[a-z]{1,3})? ){1,4}"#,
        ),
    ) {
        if let Ok(parsed) = Filter::parse(&text) {
            let printed = parsed.to_string();
            prop_assert_eq!(Filter::parse(&printed).ok(), Some(parsed), "{}", printed);
        }
    }
}

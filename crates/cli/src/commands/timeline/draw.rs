//! Draws spans as bars within the width of the terminal.

use super::spans::{Span, SpanKind, SpanState};
use crate::limits;
use crate::output::{Styled, Tone, cut, duration, printable};

/// The time that is shown, and the room for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) from_ms: u64,
    pub(crate) to_ms: u64,
    pub(crate) width: usize,
}

const LABEL_MAX: usize = 28;
/// Room for the texts beside a bar.
const TEXT: usize = 20;

/// A line: label, bar and text.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) label: String,
    pub(crate) bar: Styled,
    pub(crate) text: String,
}

/// One line for each span.
pub(crate) fn draw(spans: &[Span], frame: Frame) -> Vec<Line> {
    let labels: Vec<String> = spans.iter().map(label).collect();
    let widest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let room = frame.width.saturating_sub(widest + TEXT + 4).max(limits::TIMELINE_WIDTH_MIN);
    let lines = spans.iter().zip(labels);
    lines
        .map(|(span, label)| {
            let padding = " ".repeat(widest - label.chars().count());
            Line { label: label + &padding, bar: bar(span, frame, room), text: text(span, frame) }
        })
        .collect()
}

fn label(span: &Span) -> String {
    let kind = match span.kind {
        SpanKind::Activity => "",
        SpanKind::Timer => "timer",
        SpanKind::Event => "event ",
        SpanKind::Queue => "queue ",
        SpanKind::Child => "child ",
    };
    let name = format!("{kind}{}", printable(&span.name));
    format!("{}#{}", cut(&name, LABEL_MAX), span.event_id)
}

fn bar(span: &Span, frame: Frame, room: usize) -> Styled {
    let whole = frame.to_ms.saturating_sub(frame.from_ms).max(1);
    let column = |at: u64| {
        let passed = u128::from(at.clamp(frame.from_ms, frame.to_ms) - frame.from_ms);
        usize::try_from(passed * (room as u128 - 1) / u128::from(whole)).unwrap_or(room - 1)
    };
    let first = column(span.requested_at_ms);
    let last = column(span.ended_at_ms.unwrap_or(frame.to_ms)).max(first);
    let (line, end, tone) = match span.state {
        SpanState::Done => ('━', '┥', Tone::Good),
        SpanState::Failed => ('━', 'x', Tone::Bad),
        SpanState::Cancelled => ('─', 'o', Tone::Faint),
        SpanState::Running => ('━', '>', Tone::Active),
        SpanState::Queued => ('·', '>', Tone::Warning),
        SpanState::Open => ('─', '>', Tone::Active),
    };
    let mut drawn = " ".repeat(first);
    drawn.extend(std::iter::repeat_n(line, last - first));
    drawn.push(end);
    drawn.push_str(&" ".repeat(room - 1 - last));
    Styled::new(drawn, tone)
}

fn text(span: &Span, frame: Frame) -> String {
    let end = span.ended_at_ms.unwrap_or(frame.to_ms);
    let took = duration(end.saturating_sub(span.requested_at_ms));
    match (span.queued_ms, span.fire_at_ms, span.state.is_open()) {
        (Some(queued), _, true) => format!("queued {}", duration(queued)),
        (None, Some(fire_at), true) if fire_at > frame.to_ms => {
            format!("fires in {}", duration(fire_at - frame.to_ms))
        }
        _ => format!("{took} {}", span.state.word()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(event_id: u64, state: SpanState, from: u64, to: Option<u64>) -> Span {
        Span {
            kind: SpanKind::Activity,
            event_id,
            name: "Charge".to_owned(),
            state,
            requested_at_ms: from,
            ended_at_ms: to,
            fire_at_ms: None,
            queued_ms: None,
            run_ms_max: None,
        }
    }

    #[test]
    fn a_bar_stands_where_its_time_is() {
        let frame = Frame { from_ms: 1000, to_ms: 2000, width: 42 };
        let spans = [
            span(2, SpanState::Done, 1000, Some(2000)),
            span(3, SpanState::Failed, 1500, Some(1500)),
            span(10, SpanState::Queued, 1500, None),
        ];
        let lines = draw(&spans, frame);
        let drawn: Vec<String> = lines
            .iter()
            .map(|line| format!("{}|{}|{}", line.label, line.bar.text, line.text))
            .collect();
        assert_eq!(
            drawn,
            [
                "Charge#2 |━━━━━━━━━┥|1.0s done",
                "Charge#3 |    x     |0ms failed",
                "Charge#10|    ·····>|500ms queued",
            ]
        );
    }

    #[test]
    fn no_time_and_no_width_still_draw() {
        let frame = Frame { from_ms: 5, to_ms: 5, width: 1 };
        let lines = draw(&[span(2, SpanState::Open, 5, None)], frame);
        assert_eq!(lines[0].bar.text.chars().count(), limits::TIMELINE_WIDTH_MIN);
    }
}

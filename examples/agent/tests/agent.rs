//! The loop, on a clock that skips, with the model of the demonstration or a mock.

use duroxide::client::InstanceHandle;
use duroxide::prelude::*;
use duroxide::testing::{TestEnv, TestEnvBuilder};
use example_agent::conversation::{Conversation, Status};
use example_agent::model::{Message, ModelError, PhraseBook, Reply, Step, Thinker};
use example_agent::tools::{ToolCall, add, weather};
use example_agent::workflow::{
    AgentError, GOODBYE, MESSAGES, MESSAGES_PER_EXECUTION, Summary, converse,
};

type Tested = Result<(), Box<dyn std::error::Error>>;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn agent() -> TestEnvBuilder {
    let builder = TestEnv::builder().register(converse).register(weather).register(add);
    builder.register_state(Thinker::new(PhraseBook))
}

async fn status(run: &InstanceHandle<converse>) -> Status {
    match run.status().await.unwrap() {
        OrchestrationStatus::Running { custom_status: Some(json), .. }
        | OrchestrationStatus::Completed { custom_status: Some(json), .. } => {
            serde_json::from_str(&json).unwrap()
        }
        other @ (OrchestrationStatus::NotFound
        | OrchestrationStatus::Running { .. }
        | OrchestrationStatus::Completed { .. }
        | OrchestrationStatus::Failed { .. }) => panic!("{other:?}"),
    }
}

fn lines(status: Status) -> Vec<String> {
    status.lines.into_iter().map(|(_number, line)| line).collect()
}

#[tokio::test]
async fn a_question_leads_to_tools_and_an_answer() -> Tested {
    let env = agent().build();
    let run = env.start(converse, "c-1", Conversation::new(1000)).await?;
    env.enqueue(&run, MESSAGES, "weather in Lisbon and Oslo?").await?;
    env.until_idle().await?;
    let expected = [
        "you: weather in Lisbon and Oslo?",
        "  uses weather(Lisbon)",
        "  uses weather(Oslo)",
        "  weather(Lisbon) returns sun in Lisbon",
        "  weather(Oslo) returns snow in Oslo",
        "agent: sun in Lisbon; snow in Oslo",
    ];
    let shown = status(&run).await;
    assert!(shown.waiting && shown.answered == 1, "{shown:?}");
    assert_eq!(lines(shown), expected);
    env.enqueue(&run, MESSAGES, GOODBYE).await?;
    // 5 words, then with the results of the tools 11.
    assert_eq!(env.result(&run).await?, Summary { answered: 1, tokens_left: 984 });
    Ok(())
}

#[tokio::test]
async fn the_model_reads_the_error_of_a_tool() -> Tested {
    let env = agent().build();
    let run = env.start(converse, "c-1", Conversation::new(1000)).await?;
    env.enqueue(&run, MESSAGES, "weather in Atlantis").await?;
    env.until_idle().await?;
    let last = lines(status(&run).await).pop();
    assert_eq!(last.as_deref(), Some("agent: error: there is no weather in Atlantis"));
    Ok(())
}

#[tokio::test]
async fn a_long_conversation_continues_with_a_short_history() -> Tested {
    let env = agent().build();
    let run = env.start(converse, "c-1", Conversation::new(1_000_000)).await?;
    let count = 5 * MESSAGES_PER_EXECUTION as u64 + 3;
    for n in 0..count {
        env.enqueue(&run, MESSAGES, format!("add {n} 1")).await?;
    }
    env.enqueue(&run, MESSAGES, GOODBYE).await?;
    assert_eq!(env.result(&run).await?.answered, count);
    let row = env.client().get_instance_row("c-1").await?.expect("the conversation");
    assert_eq!(row.executions, 6);
    // The numbers of the lines go on, so that clients notice that they have missed none.
    let shown = status(&run).await;
    assert_eq!(shown.lines.last(), Some(&(4 * count, format!("agent: {count}"))));
    assert_eq!(shown.lines.len(), 30);
    Ok(())
}

#[tokio::test]
async fn a_spent_budget_ends_the_conversation() -> Tested {
    let env = agent().build();
    let run = env.start(converse, "c-1", Conversation::new(20)).await?;
    for _message in 0..3 {
        env.enqueue(&run, MESSAGES, "add 1 2").await?;
    }
    assert_eq!(env.result(&run).await, Err(CallError::App(AgentError::BudgetSpent)));
    Ok(())
}

#[tokio::test]
async fn a_user_who_says_nothing_for_a_day_ends_the_conversation() -> Tested {
    let env = agent().build();
    let run = env.start(converse, "c-1", Conversation::new(20)).await?;
    assert_eq!(env.result(&run).await?, Summary { answered: 0, tokens_left: 20 });
    assert_eq!(env.elapsed(), DAY);
    Ok(())
}

#[tokio::test]
async fn an_overloaded_model_is_asked_again_when_it_says() -> Tested {
    let answer = Reply { step: Step::Answer("hello".to_owned()), tokens: 1 };
    let answers = [Err(ModelError::Overloaded { seconds: 300 }), Ok(answer)];
    let env = agent().mock_sequence(Thinker::think, answers).build();
    let run = env.start(converse, "c-1", Conversation::new(20)).await?;
    env.enqueue(&run, MESSAGES, "hello").await?;
    env.enqueue(&run, MESSAGES, GOODBYE).await?;
    assert_eq!(env.result(&run).await?.tokens_left, 19);
    assert_eq!(env.elapsed(), Duration::from_secs(300));
    Ok(())
}

#[tokio::test]
async fn a_model_that_refuses_ends_the_conversation_at_once() -> Tested {
    let refuses = |_talk: Vec<Message>| Err(ModelError::Refused("no".to_owned()));
    let env = agent().mock(Thinker::think, refuses).build();
    let run = env.start(converse, "c-1", Conversation::new(20)).await?;
    env.enqueue(&run, MESSAGES, "hello").await?;
    let error = AgentError::Model(CallError::App(ModelError::Refused("no".to_owned())));
    assert_eq!(env.result(&run).await, Err(CallError::App(error)));
    assert_eq!(env.calls(Thinker::think)?.len(), 1);
    Ok(())
}

#[tokio::test]
async fn a_model_that_never_answers_is_stopped() -> Tested {
    let tools = || vec![ToolCall::Add { numbers: vec![1] }];
    let never = move |_talk: Vec<Message>| Ok(Reply { step: Step::UseTools(tools()), tokens: 1 });
    let env = agent().mock(Thinker::think, never).build();
    let run = env.start(converse, "c-1", Conversation::new(1000)).await?;
    env.enqueue(&run, MESSAGES, "add 1").await?;
    env.until_idle().await?;
    let last = lines(status(&run).await).pop();
    assert_eq!(last.as_deref(), Some("agent: this takes me too many steps"));
    Ok(())
}

#[tokio::test]
async fn a_conversation_survives_a_crash_at_every_commit() {
    let test = |env: TestEnv| async move {
        let talk = Conversation::new(1000);
        let run = env.start(converse, "c-1", talk).await.map_err(|error| error.to_string())?;
        for text in ["weather in Lisbon and Oslo", "add 1 2", GOODBYE] {
            let sent = env.enqueue(&run, MESSAGES, text).await;
            sent.map_err(|error| error.to_string())?;
        }
        let summary = env.result(&run).await.map_err(|error| error.to_string())?;
        Ok::<_, String>((summary, lines(status(&run).await)))
    };
    let report = agent().crash_at_every_commit(test).await;
    assert!(report.commits >= 10, "{report:?}");
}

//! A person who is asked before something is lost: what they say, what is done, and what is recorded of it.

use tokio::sync::oneshot;

use super::*;

/// What a client does with a question.
#[derive(Clone, Copy, Debug)]
enum Client {
    Says(Consent),
    /// Has the question, and goes.
    Drops,
    /// Goes before there is one.
    IsGone,
    NeverAnswers,
}

/// Calls while a client waits for questions: what came of it, and what it was asked.
async fn asked<M: Manner>(world: &World, client: Client) -> (Outcome, Option<String>) {
    let (sender, questions) = oneshot::channel();
    let questions = match client {
        Client::IsGone => {
            drop(questions);
            None
        }
        _ => Some(questions),
    };
    let gateway = Arc::clone(&world.gateway);
    let call =
        tokio::spawn(async move { ask::<M>(&gateway, "default", Asking::Now(sender)).await });
    let mut words = None;
    if let Some(questions) = questions
        && let Ok(mut question) = questions.await
    {
        words = Some(question.words().to_owned());
        match client {
            Client::Says(answer) => question.answer(answer),
            Client::NeverAnswers => {
                // The call waits already: it is the only other task.
                tokio::task::yield_now().await;
                tokio::time::pause();
                tokio::time::advance(std::time::Duration::from_secs(601)).await;
                tokio::time::resume();
                question.given_up().await;
            }
            Client::Drops | Client::IsGone => {}
        }
    }
    (call.await.unwrap(), words)
}

fn refusal(outcome: &Outcome) -> &Refusal {
    match outcome {
        Outcome::Refused(refused) => &refused.refusal,
        Outcome::Answered(_) => panic!("it was answered"),
    }
}

#[tokio::test]
async fn nothing_is_done_unless_the_person_agrees() {
    for (client, why) in [
        (Client::Says(Consent::Withheld), "declined"),
        (Client::Drops, "no answer came"),
        (Client::IsGone, "the client is gone"),
        (Client::NeverAnswers, "no answer came in 10 minutes"),
    ] {
        let world = World::new();
        let (outcome, words) = asked::<Changes>(&world, client).await;
        let refusal = refusal(&outcome);
        assert_eq!(refusal.code, Code::Denied, "{client:?}");
        let said = format!("the user was asked and did not agree ({why})");
        assert!(refusal.to_string().contains(&said), "{refusal}");
        assert_eq!(world.witness.asked(), 0, "{client:?}");
        let gone = matches!(client, Client::IsGone);
        assert_eq!(words.is_none(), gone, "{client:?}");
        let records = world.records();
        let last = records.last().unwrap();
        for (name, value) in [
            ("event", "outcome"),
            ("result", "denied"),
            ("issue", "not_agreed"),
        ] {
            assert_eq!(last[name], value, "{client:?}: {last}");
        }
    }
}

#[tokio::test]
async fn what_the_person_agrees_to_is_done() {
    let world = World::new();
    let (outcome, words) = asked::<Changes>(&world, Client::Says(Consent::Given)).await;
    assert_eq!(code(Some(outcome)), "answered");
    assert_eq!(words.as_deref(), Some("A tool of the tests?"));
    assert_eq!(world.witness.asked(), 1);
    assert_eq!(world.records().last().unwrap()["result"], "ok");
}

#[tokio::test]
async fn nobody_is_asked_about_reading() {
    let world = World::new();
    let (outcome, words) = asked::<Reads>(&world, Client::Says(Consent::Withheld)).await;
    assert_eq!((code(Some(outcome)), words), ("answered", None));
    let outcome = ask::<Reads>(&world.gateway, "default", Asking::Later(None)).await;
    assert_eq!(code(Some(outcome)), "answered");
}

#[tokio::test]
async fn nobody_is_asked_about_what_would_be_refused() {
    let world = World::new();
    let outcome = ask::<Changes>(&world.gateway, "no account", Asking::Later(None)).await;
    assert_eq!(refusal(&outcome).code, Code::InvalidInput);
    assert_eq!(refusal(&outcome).question(), None);
    let dark = World::without_a_log();
    let outcome = ask::<Changes>(&dark.gateway, "default", Asking::Later(None)).await;
    assert_eq!(refusal(&outcome).code, Code::AuditUnavailable);
    assert_eq!(refusal(&outcome).question(), None);
}

#[tokio::test]
async fn a_call_ends_with_the_question_and_is_made_again_with_the_answer() {
    let world = World::new();
    let again = |account: &'static str, state: Option<String>, answer: Option<Consent>| {
        let returned = Some(Returned { state, answer });
        ask::<Changes>(&world.gateway, account, Asking::Later(returned))
    };
    let first = ask::<Changes>(&world.gateway, "default", Asking::Later(None)).await;
    let asked = refusal(&first).question().unwrap().clone();
    assert_eq!(asked.words, "A tool of the tests?");
    let record = world.records().pop().unwrap();
    assert_eq!(
        (&record["result"], &record["issue"]),
        (&json!("asked"), &Value::Null)
    );

    let good = Some(asked.state);
    let changed = good
        .as_deref()
        .map(|state| state.replacen(char::is_alphanumeric, "_", 1));
    let (yes, no) = (Some(Consent::Given), Some(Consent::Withheld));
    for (account, state, answer, wanted) in [
        ("other", good.clone(), yes, Code::InvalidInput),
        ("default", changed, yes, Code::InvalidInput),
        (
            "default",
            Some("x".repeat(100_000)),
            yes,
            Code::InvalidInput,
        ),
        ("default", None, yes, Code::InvalidInput),
        ("default", None, no, Code::InvalidInput),
        ("default", good.clone(), no, Code::Denied),
    ] {
        let outcome = again(account, state, answer).await;
        assert_eq!(refusal(&outcome).code, wanted);
        assert_eq!(refusal(&outcome).question(), None);
        let record = world.records().pop().unwrap();
        assert_eq!(record["result"], wanted.name());
    }
    // Whoever comes without an answer is asked again.
    let outcome = again("default", good.clone(), None).await;
    assert!(refusal(&outcome).question().is_some());
    assert_eq!(world.witness.asked(), 0);

    assert_eq!(code(Some(again("default", good, yes).await)), "answered");
    assert_eq!(world.witness.asked(), 1);
}

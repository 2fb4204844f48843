//! Asking the person at the client: `elicitation/create` for clients with a handshake, `input_required` for those of
//! 2026-07-28. What is asked, when, and what a no means is the gateway's business; so is whether an answer fits its question.

use std::collections::BTreeMap;

use gateway::{Asked, Asking, Consent, Question, Returned};
use rmcp::model::{
    BooleanSchema, CallToolRequestParams, ClientResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, InputRequest, InputRequests,
    InputRequiredResult, PrimitiveSchemaDefinition, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use rmcp::{Peer, RoleServer};
use serde_json::Value;
use tokio::sync::oneshot;

use super::mcp::Era;

/// The one field of the form, and the name of the one question.
const AGREED: &str = "agreed";
const QUESTION: &str = "confirm";

/// Where the questions of one call come out.
pub(super) struct Questions(Option<oneshot::Receiver<Question>>);

/// How the person behind a call can be asked.
pub(super) fn asking(
    request: &mut CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> (Asking, Questions) {
    let returned = returned(request);
    match (Era::of(context), can_be_asked(context)) {
        // Whoever brings an answer was asked, whatever it says that it can.
        (Era::Modern, asks) if asks || returned.is_some() => {
            (Asking::Later(returned), Questions(None))
        }
        (Era::Older, true) => {
            let (sender, questions) = oneshot::channel();
            (Asking::Now(sender), Questions(Some(questions)))
        }
        _ => (Asking::Cannot, Questions(None)),
    }
}

/// By a form. Clients of 2025-06-18 know no other way and say only that they can.
fn can_be_asked(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let elicitation = capabilities.and_then(|can| can.elicitation);
    elicitation.is_some_and(|ways| ways.form.is_some() || ways.url.is_none())
}

fn returned(request: &mut CallToolRequestParams) -> Option<Returned> {
    let state = request.request_state.take();
    let responses = request.input_responses.take();
    if state.is_none() && responses.is_none() {
        return None;
    }
    let response = responses.and_then(|mut all| all.remove(QUESTION));
    // What cannot be read as an answer is none that agrees.
    let read = |value: Value| {
        serde_json::from_value(value).map_or(Consent::Withheld, |said| consent(&said))
    };
    Some(Returned {
        state,
        answer: response.map(read),
    })
}

/// What a client of 2026-07-28 is to ask before it makes the call again.
pub(super) fn input_required(asked: &Asked) -> InputRequiredResult {
    let request = InputRequest::Elicitation(ElicitRequest::new(form(&asked.words)));
    let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
    InputRequiredResult::new(Some(requests), Some(asked.state.clone()))
}

impl Questions {
    /// Never ends: it carries the question of the call beside it to the client, and the answer back. Dropping it is a no.
    pub(super) async fn carry(self, peer: &Peer<RoleServer>) {
        if let Some(questions) = self.0
            && let Ok(question) = questions.await
        {
            put(question, peer).await;
        }
        std::future::pending().await
    }
}

async fn put(mut question: Question, peer: &Peer<RoleServer>) {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form(question.words())));
    let options = PeerRequestOptions::no_options();
    let Ok(mut sent) = peer.send_cancellable_request(request, options).await else {
        return question.answer(Consent::Withheld);
    };
    let came = tokio::select! {
        came = &mut sent.rx => came,
        () = question.given_up() => {
            // A client that is gone needs not be told.
            let _ = sent.cancel(Some("no answer came in time".to_owned())).await;
            return;
        }
    };
    question.answer(match came {
        Ok(Ok(ClientResult::ElicitResult(said))) => consent(&said),
        _ => Consent::Withheld,
    });
}

/// One box to tick: a client that accepts without having shown it has ticked nothing.
fn form(words: &str) -> ElicitRequestParams {
    let agreed = PrimitiveSchemaDefinition::Boolean(BooleanSchema::new().title("Yes, do it"));
    let mut schema = ElicitationSchema::new(BTreeMap::from([(AGREED.to_owned(), agreed)]));
    schema.required = Some(vec![AGREED.to_owned()]);
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: words.to_owned(),
        requested_schema: schema,
    }
}

fn consent(said: &ElicitResult) -> Consent {
    let content = said.content.as_ref();
    let ticked = content.and_then(|content| content.get(AGREED)) == Some(&Value::Bool(true));
    match said.action == ElicitationAction::Accept && ticked {
        true => Consent::Given,
        false => Consent::Withheld,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(more: Value) -> CallToolRequestParams {
        let mut params = json!({ "name": "imap_delete_message" });
        let params_map = params.as_object_mut().unwrap();
        params_map.extend(more.as_object().unwrap().clone());
        serde_json::from_value(params).unwrap()
    }

    #[test]
    fn only_a_ticked_box_that_is_accepted_agrees() {
        for (said, consent) in [
            (
                json!({ "action": "accept", "content": { "agreed": true } }),
                Consent::Given,
            ),
            (
                json!({ "action": "accept", "content": { "agreed": false } }),
                Consent::Withheld,
            ),
            (
                json!({ "action": "accept", "content": { "agreed": "true" } }),
                Consent::Withheld,
            ),
            (
                json!({ "action": "accept", "content": {} }),
                Consent::Withheld,
            ),
            (json!({ "action": "accept" }), Consent::Withheld),
            (
                json!({ "action": "decline", "content": { "agreed": true } }),
                Consent::Withheld,
            ),
            (json!({ "action": "cancel" }), Consent::Withheld),
            (json!({ "action": "perhaps" }), Consent::Withheld),
            (json!({}), Consent::Withheld),
            (json!(null), Consent::Withheld),
            (json!([true]), Consent::Withheld),
        ] {
            let mut again =
                call(json!({ "requestState": "s", "inputResponses": { "confirm": said } }));
            let returned = returned(&mut again).unwrap();
            assert_eq!(returned.answer, Some(consent), "{said}");
            assert_eq!(returned.state.as_deref(), Some("s"));
        }
    }

    #[test]
    fn what_comes_back_is_told_apart_from_a_first_call() {
        for (more, wanted) in [
            (json!({}), None),
            (json!({ "requestState": "s" }), Some((Some("s"), None))),
            (json!({ "inputResponses": {} }), Some((None, None))),
            (
                json!({ "inputResponses": { "other": { "action": "accept" } } }),
                Some((None, None)),
            ),
        ] {
            let wanted = wanted.map(|(state, answer): (Option<&str>, _)| Returned {
                state: state.map(str::to_owned),
                answer,
            });
            assert_eq!(returned(&mut call(more.clone())), wanted, "{more}");
        }
    }

    #[test]
    fn a_question_is_a_form_with_one_box() {
        let asked = Asked {
            words: "Delete it?".to_owned(),
            state: "sealed".to_owned(),
        };
        let sent = serde_json::to_value(input_required(&asked)).unwrap();
        assert_eq!(
            sent,
            json!({
                "resultType": "input_required",
                "inputRequests": { "confirm": {
                    "method": "elicitation/create",
                    "params": {
                        "mode": "form",
                        "message": "Delete it?",
                        "requestedSchema": {
                            "type": "object",
                            "properties": { "agreed": { "type": "boolean", "title": "Yes, do it" } },
                            "required": ["agreed"],
                        },
                    },
                } },
                "requestState": "sealed",
            })
        );
    }
}

//! Makes a call and shows it, and the messages that a search found.

use anyhow::Context as _;
use serde_json::Value;

use super::client::{Answer, Call, Client, Refusal};
use super::page::{Column, Page, list, text};

pub(super) struct Teller<'a> {
    pub client: &'a Client,
    pub page: &'a Page,
}

type Arguments<'a> = &'a [(&'static str, Value)];

impl Teller<'_> {
    pub(super) async fn call(
        &self,
        tool: &'static str,
        arguments: Arguments<'_>,
    ) -> anyhow::Result<Answer> {
        let call = Call { tool, arguments };
        self.page.call(&call);
        self.client.answer(&call).await
    }

    pub(super) async fn refused(
        &self,
        tool: &'static str,
        arguments: Arguments<'_>,
    ) -> anyhow::Result<Refusal> {
        let call = Call { tool, arguments };
        self.page.call(&call);
        self.client.refusal(&call).await
    }

    /// A search with its messages, one a row, the beginning of the text below where it was asked for.
    pub(super) async fn messages(
        &self,
        tool: &'static str,
        arguments: Arguments<'_>,
    ) -> anyhow::Result<Answer> {
        let found = self.call(tool, arguments).await?;
        let messages = list(&found.value, "/data/messages");
        let rows: Vec<_> = messages.iter().map(row).collect();
        let columns = [
            Column::Left(1),
            Column::Left(16),
            Column::Left(27),
            Column::Left(usize::MAX),
        ];
        for (line, message) in self.page.aligned(&columns, &rows).iter().zip(messages) {
            self.page.note(line);
            if let Some(snippet) = message.get("snippet").and_then(Value::as_str) {
                let dim = |text| self.page.screen.dim(text);
                self.page.tinted(&format!("   {snippet}"), dim);
            }
        }
        self.page.end_of(&found);
        Ok(found)
    }
}

/// The id of the first message with this in its subject.
pub(super) fn pick(found: &Answer, subject: &str) -> anyhow::Result<Value> {
    let messages = list(&found.value, "/data/messages");
    let message = messages
        .iter()
        .find(|message| text(message, "/subject").contains(subject));
    let id = message.and_then(|message| message.get("message_id"));
    id.cloned()
        .with_context(|| format!("no message about '{subject}' was found"))
}

/// Unread or not, when, who, what.
fn row(message: &Value) -> [String; 4] {
    let flags = list(message, "/flags");
    let mark = match flags.iter().any(|flag| flag == "\\Seen") {
        true => " ",
        false => "●",
    };
    let date = text(message, "/date").replace('T', " ");
    let from = text(message, "/from");
    let name = from.split(" <").next().unwrap_or_default();
    [
        mark.to_owned(),
        date.chars().take(16).collect(),
        name.trim_matches('"').to_owned(),
        text(message, "/subject"),
    ]
}

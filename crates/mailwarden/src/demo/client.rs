//! The other end of the wire: starts this program as an MCP server and calls its tools, as any client would.
//!
//! The only module that names rmcp on the client's side. It shows nothing.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ContentBlock, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService, ServiceError};
use serde_json::Value;
use tokio::process::{Child, Command};

/// A server that has lost its client is gone by then.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Client {
    child: Child,
    service: RunningService<RoleClient, ()>,
    /// Until the server could be called.
    pub started: Duration,
    pub tools: usize,
}

/// A call, its arguments in the order in which they are shown.
pub(super) struct Call<'a> {
    pub tool: &'static str,
    pub arguments: &'a [(&'static str, Value)],
}

/// What a call cost.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    pub took: Duration,
    /// Of the text that the model gets.
    pub chars: usize,
}

pub(super) struct Answer {
    /// The `structuredContent`.
    pub value: Value,
    pub cost: Cost,
}

pub(super) struct Refusal {
    /// The JSON-RPC error code.
    pub number: i32,
    /// `error.data.code`
    pub code: String,
    pub message: String,
    pub cost: Cost,
}

impl Client {
    pub(super) async fn start(
        program: &Path,
        mailbox: &Path,
        state: &Path,
    ) -> anyhow::Result<Self> {
        let began = Instant::now();
        let mut child = command(program, mailbox, state)
            .spawn()
            .with_context(|| format!("{} cannot be started", program.display()))?;
        let (Some(from), Some(to)) = (child.stdout.take(), child.stdin.take()) else {
            bail!("the server has no pipes");
        };
        let lifecycle = ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        };
        let service =
            ().serve_with_lifecycle((from, to), lifecycle)
                .await
                .context("the server does not speak MCP")?;
        let tools = service.list_all_tools().await?.len();
        Ok(Self {
            child,
            service,
            started: began.elapsed(),
            tools,
        })
    }

    /// Name, version and protocol revision, as the server tells them.
    pub(super) fn server(&self) -> String {
        let Some(info) = self.service.peer_info() else {
            return String::new();
        };
        let me = info.server_info.as_ref();
        let name = me.map_or_else(String::new, |me| format!("{} {}", me.name, me.version));
        format!("{name}, MCP {}", info.protocol_version)
    }

    /// The answer to a call that should work.
    pub(super) async fn answer(&self, call: &Call<'_>) -> anyhow::Result<Answer> {
        let began = Instant::now();
        let result = self.send(call).await;
        let took = began.elapsed();
        let result = result.with_context(|| format!("{} was refused", call.tool))?;
        let texts = result.content.iter().filter_map(ContentBlock::as_text);
        let chars = texts.map(|block| block.text.chars().count()).sum();
        let value = result.structured_content.unwrap_or_default();
        if value.get("success") != Some(&Value::Bool(true)) {
            let summary = value.get("summary").and_then(Value::as_str);
            bail!("{} failed: {}", call.tool, summary.unwrap_or("no reason"));
        }
        Ok(Answer {
            value,
            cost: Cost { took, chars },
        })
    }

    /// The error of a call that should be refused.
    pub(super) async fn refusal(&self, call: &Call<'_>) -> anyhow::Result<Refusal> {
        let began = Instant::now();
        let result = self.send(call).await;
        let took = began.elapsed();
        let error = match result {
            Err(ServiceError::McpError(error)) => error,
            Err(other) => return Err(other.into()),
            Ok(_) => bail!("{} should have been refused", call.tool),
        };
        let code = error.data.as_ref().and_then(|data| data.get("code"));
        let chars = error.message.chars().count();
        Ok(Refusal {
            number: error.code.0,
            code: code.and_then(Value::as_str).unwrap_or_default().to_owned(),
            message: error.message.into_owned(),
            cost: Cost { took, chars },
        })
    }

    /// Closes the server's stdin, which ends it, and waits until it is gone.
    pub(super) async fn end(&mut self) -> anyhow::Result<()> {
        self.service.close_with_timeout(PATIENCE).await?;
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(status) => {
                let status = status?;
                anyhow::ensure!(status.success(), "the server ended with {status}");
                Ok(())
            }
            Err(_) => {
                self.child.kill().await?;
                bail!("the server did not end by itself")
            }
        }
    }

    async fn send(&self, call: &Call<'_>) -> Result<rmcp::model::CallToolResult, ServiceError> {
        let arguments = call.arguments.iter().cloned();
        let arguments = arguments.map(|(name, value)| (name.to_owned(), value));
        let params = CallToolRequestParams::new(call.tool).with_arguments(arguments.collect());
        self.service.call_tool(params).await
    }
}

/// INVARIANT: nothing that is configured for this user's own mail reaches the server of the demo.
fn command(program: &Path, mailbox: &Path, state: &Path) -> Command {
    let mut command = Command::new(program);
    for name in secrets::own_variables() {
        command.env_remove(name);
    }
    command
        .arg("stdio")
        .env("MAIL_MAILDIR_DEMO_PATH", mailbox)
        .env("MAILWARDEN_STATE_DIR", state)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    command
}

//! `get_caller_identity`: who the caller is taken for.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::envelope::{Done, Reply};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};

pub(crate) struct GetCallerIdentity;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Identity {
    caller_id: String,
    toolsets: Vec<&'static str>,
}

impl Reply for Identity {
    fn shown(&self) -> usize {
        0
    }
}

impl Tool for GetCallerIdentity {
    const NAME: &'static str = "get_caller_identity";
    const TITLE: &'static str = "Who am I";
    const SUMMARY: &'static str =
        "Tell the caller_id under which you are connected. It cannot be changed.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::LOCAL;
    const LEAST: Level = Level::None;
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Identity;

    fn ask(_: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Own)
    }

    fn kept(_: &Args) -> Summary {
        Summary::new()
    }

    async fn run(ctx: Ctx<'_>, _: Args) -> Result<Done<Identity>, Refusal> {
        let caller_id = ctx.caller.as_str().to_owned();
        Ok(Done::new(
            format!("you are {caller_id}"),
            Identity {
                caller_id,
                toolsets: ctx.toolsets().iter().map(|set| set.name()).collect(),
            },
        ))
    }
}

//! `move`: takes a message to another folder, of the same account or of another one.

use audit::Summary;
use ledger::Kind;
use mail::Level;
use policy::{Ask, Capability, Deed};

use super::moving::{self, Args, Moved};
use crate::Refusal;
use crate::envelope::Done;
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset, Use};

pub(crate) struct Move;

impl Tool for Move {
    const NAME: &'static str = "move";
    const TITLE: &'static str = "Move a message";
    const SUMMARY: &'static str = "Move one message to another folder, of the same or of another account, with its flags and its date: done once, or not at all. Needs move_out where it is and accept_incoming where it goes, and you must not see more of it there than here.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::MOVES;
    const LEAST: Level = Level::Metadata;
    const USE: Use = Use::All(&[Capability::MoveOut, Capability::AcceptIncoming]);
    const UNTRUSTED: &'static [&'static str] = &[];
    type Args = Args;
    type Reply = Moved;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let deed = Deed::Move(args.target()?);
        Ok(args.which().changing(deed))
    }

    fn kept(args: &Args) -> Summary {
        args.kept()
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Moved>, Refusal> {
        moving::carry::<Self>(ctx, args, Kind::Move).await
    }
}

//! `move`: takes a message to another folder, of the same account or of another one.

use audit::Summary;
use ledger::Kind;
use mail::Level;
use policy::{Ask, Capability, Deed};

use super::moving::{Args, Moved};
use crate::Refusal;
use crate::envelope::Done;
use crate::pipeline::Ctx;
use crate::tools::changing::{self, Wish};
use crate::tools::{Annotations, Tool, Toolset, Use};
use crate::transact::Told;

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
        let (target, which) = (args.target()?, args.which());
        let mail = ctx.mail()?;
        let key = changing::key::<Self>(args.idempotency_key.as_ref(), &args);
        let said = |told: &Told| format!("move to {}: {}", target.folder, told.words());
        if let Some(told) = ctx.repeated(key.as_ref()).await? {
            let data = Moved::again(&args, &target, &told, ctx.shows_landing());
            return Ok(Done::new(said(&told), data));
        }
        let located = mail.locate(&which.folder.0, which.generation(), which.uid());
        let at = match located.await {
            Ok(at) => at,
            Err(halt) => {
                let told = Told::not_begun(mail.sort(halt)?);
                let data = Moved::again(&args, &target, &told, ctx.shows_landing());
                return Ok(Done::new(said(&told), data));
            }
        };
        let wish = Wish::takes(Kind::Move, &target, key);
        let told = changing::change::<Self>(&ctx, &mail, &at, wish).await?;
        let data = Moved::of(&at, &target, &told, ctx.shows_landing());
        Ok(Done::new(said(&told), data))
    }
}

//! What a session carries out: a job reads, and may be begun again on another session; a change may not, once it was
//! sent.

use mail::{Broken, Changed, Cx, Fault, FolderName};

use super::pool::Wish;
use super::session::Session;

pub(super) trait Job: Send + Sync {
    type Out: Send;

    /// The folder it works in, so that a session which has it open can be chosen.
    fn folder(&self) -> Option<&FolderName>;

    /// The session that suits best.
    fn wish(&self) -> Wish<'_> {
        self.folder().map_or(Wish::Any, Wish::Open)
    }

    fn run(
        &self,
        session: &mut Session,
        cx: &Cx,
    ) -> impl Future<Output = Result<Self::Out, Fault>> + Send;
}

pub(super) trait Change: Send + Sync {
    /// The session that suits best.
    fn wish(&self) -> Wish<'_>;

    /// INVARIANT: [`mail::Effect::Nothing`] is said only where nothing was asked for, or where it was refused.
    fn run(
        &self,
        session: &mut Session,
        cx: &Cx,
    ) -> impl Future<Output = Result<Changed, Broken>> + Send;
}

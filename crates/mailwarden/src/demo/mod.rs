//! `mailwarden demo`.
use crate::screen::Screen;
pub(crate) async fn run(_screen: Screen) -> anyhow::Result<()> {
    Ok(())
}

//! A folder as one question sees it: found once, listed at most once, and its messages opened from there.
//!
//! Remembers nothing longer than that; what is kept between questions is the catalog's.

use std::io;
use std::sync::Arc;

use mail::{Fault, FolderName, Uid};

use super::catalog::Catalog;
use super::folders::Place;
use super::open::Shelf;
use super::scan::{Entry, Scan};
use super::work::Stop;

pub(super) struct Visit<'a> {
    catalog: &'a Catalog,
    place: Place,
    stop: &'a Stop,
    scan: Option<Arc<Scan>>,
    pub(super) shelf: Shelf<'a>,
}

impl<'a> Visit<'a> {
    pub(super) fn new(catalog: &'a Catalog, place: Place, stop: &'a Stop) -> Self {
        Self {
            catalog,
            shelf: catalog.shelf(place.clone(), stop),
            place,
            stop,
            scan: None,
        }
    }

    pub(super) fn named(
        catalog: &'a Catalog,
        name: &FolderName,
        stop: &'a Stop,
    ) -> Result<Self, Fault> {
        Ok(Self::new(catalog, catalog.place(name, stop)?, stop))
    }

    /// With a listing that was made for the same question.
    pub(super) fn listed(self, scan: Option<Arc<Scan>>) -> Self {
        Self { scan, ..self }
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// What has this number, even if others have it too.
    pub(super) fn entry(&mut self, uid: Uid) -> io::Result<Option<Entry>> {
        let scan = match self.scan.take() {
            Some(scan) => scan,
            None => self.catalog.scan(&self.place, self.stop)?,
        };
        Ok(self.scan.insert(scan).get(uid).cloned())
    }
}

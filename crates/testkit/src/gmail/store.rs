//! The messages of an account and the rules of its labels. Speaks no protocol, and knows no connection.
//!
//! A message is kept once. Where it is seen follows from its labels and its star; each mailbox gives it a number of its own.

use super::mime::{self, Part};
use super::place::Place;
use super::settings::{Duplicates, LastLabel, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) const SEEN: &str = "\\Seen";
pub(super) const FLAGGED: &str = "\\Flagged";
pub(super) const DELETED: &str = "\\Deleted";
pub(super) const DRAFT: &str = "\\Draft";

/// Ids look like Gmail's: large, and growing with time.
const FIRST_ID: u64 = 1_278_455_344_230_334_865;
const ID_STEP: u64 = 104_729;

#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) msgid: u64,
    pub(super) thrid: u64,
    pub(super) raw: Arc<[u8]>,
    pub(super) part: Arc<Part>,
    pub(super) unix_time: u64,
    /// All but `\Deleted`, which is of a mailbox. A star is `\Flagged`.
    pub(super) flags: BTreeSet<String>,
    labels: BTreeSet<Place>,
    pub(super) modseq: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Mailbox {
    pub(super) uidvalidity: u32,
    pub(super) uidnext: u32,
    pub(super) rows: BTreeMap<u32, Row>,
    /// The same the other way round: UIDs by X-GM-MSGID.
    uids: BTreeMap<u64, u32>,
}

/// A message in a mailbox.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) msgid: u64,
    /// Not shared with other mailboxes: an EXPUNGE there would else take away a label that nobody asked to go. Our
    /// reading; no trace of another client shows it.
    pub(super) deleted: bool,
}

/// Whether a message is `\Deleted` in a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Deleted,
    Kept,
}

/// What comes of putting a message into a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Landing {
    pub(super) uidvalidity: u32,
    pub(super) uid: u32,
}

#[derive(Debug)]
pub(super) struct Store {
    pub(super) settings: Settings,
    messages: BTreeMap<u64, Message>,
    /// By Message-ID.
    named: BTreeMap<String, BTreeSet<u64>>,
    boxes: BTreeMap<Place, Mailbox>,
    pub(super) modseq: u64,
    made: u64,
    validities: u32,
}

impl Message {
    /// What `X-GM-LABELS` tells of it, wherever it is seen.
    pub(super) fn labels(&self) -> BTreeSet<Place> {
        let star = self.flags.contains(FLAGGED).then_some(Place::Starred);
        self.labels.iter().cloned().chain(star).collect()
    }

    /// The mailboxes in which it is seen.
    fn places(&self) -> BTreeSet<Place> {
        // Google's help page on IMAP: what is in Spam or Trash is in no other mailbox.
        if let Some(apart) = self.labels.iter().find(|label| label.is_apart()) {
            return BTreeSet::from([apart.clone()]);
        }
        self.labels().into_iter().chain([Place::All]).collect()
    }

    pub(super) fn header(&self) -> &[u8] {
        self.part.header(&self.raw)
    }

    fn message_id(&self) -> Option<String> {
        mime::field(self.header(), "message-id").filter(|id| !id.is_empty())
    }
}

impl Store {
    pub(super) fn new(settings: Settings) -> Self {
        let mut store = Self {
            settings,
            messages: BTreeMap::new(),
            named: BTreeMap::new(),
            boxes: BTreeMap::new(),
            modseq: 1_000,
            made: 0,
            validities: 0,
        };
        store.mailbox(&Place::Inbox);
        for place in super::place::SPECIAL {
            store.mailbox(&place);
        }
        store
    }

    /// The mailbox, made if it is not there.
    fn mailbox(&mut self, place: &Place) -> &mut Mailbox {
        let validities = &mut self.validities;
        self.boxes.entry(place.clone()).or_insert_with(|| {
            *validities += 1;
            Mailbox {
                uidvalidity: *validities,
                uidnext: 1,
                rows: BTreeMap::new(),
                uids: BTreeMap::new(),
            }
        })
    }

    /// A label as it was made, in whatever case it is asked for: there are no two that differ in case alone (CREATE of such a
    /// one is refused as a duplicate).
    pub(super) fn spelled(&self, place: Place) -> Place {
        let Place::Label(name) = &place else {
            return place;
        };
        let name = name.to_lowercase();
        let same =
            |one: &&Place| matches!(one, Place::Label(known) if known.to_lowercase() == name);
        match self.boxes.keys().find(same) {
            Some(known) => known.clone(),
            None => place,
        }
    }

    /// One that exists and is shown in IMAP.
    pub(super) fn shown(&self, place: &Place) -> Option<&Mailbox> {
        self.boxes
            .get(place)
            .filter(|_| !self.settings.hidden.contains(place))
    }

    pub(super) fn hidden_or_shown(&self, place: &Place) -> Option<&Mailbox> {
        self.boxes.get(place)
    }

    /// All that are shown.
    pub(super) fn places(&self) -> Vec<Place> {
        let shown = self
            .boxes
            .keys()
            .filter(|place| self.shown(place).is_some());
        shown.cloned().collect()
    }

    pub(super) fn message(&self, msgid: u64) -> Option<&Message> {
        self.messages.get(&msgid)
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    pub(super) fn row(&self, place: &Place, uid: u32) -> Option<(&Row, &Message)> {
        let row = self.boxes.get(place)?.rows.get(&uid)?;
        Some((row, self.messages.get(&row.msgid)?))
    }

    pub(super) fn uid(&self, place: &Place, msgid: u64) -> Option<u32> {
        self.boxes.get(place)?.uids.get(&msgid).copied()
    }

    pub(super) fn landing(&self, place: &Place, msgid: u64) -> Option<Landing> {
        Some(Landing {
            uidvalidity: self.boxes.get(place)?.uidvalidity,
            uid: self.uid(place, msgid)?,
        })
    }

    /// All flags of a message as a mailbox shows them.
    pub(super) fn flags(row: &Row, message: &Message) -> Vec<String> {
        let deleted = row.deleted.then(|| DELETED.to_owned());
        message.flags.iter().cloned().chain(deleted).collect()
    }

    /// Creates a label.
    pub(super) fn create(&mut self, place: &Place) {
        self.mailbox(place);
    }

    /// Takes a label away from everything that has it.
    pub(super) fn delete(&mut self, place: &Place) {
        let having = self
            .messages
            .values()
            .filter(|one| one.labels.contains(place));
        let having: Vec<u64> = having.map(|one| one.msgid).collect();
        for msgid in having {
            self.remove(msgid, place);
        }
        self.boxes.remove(place);
    }

    pub(super) fn rename(&mut self, from: &Place, to: &Place) {
        if let Some(mailbox) = self.boxes.remove(from) {
            self.boxes.insert(to.clone(), mailbox);
        }
        for message in self.messages.values_mut() {
            if message.labels.remove(from) {
                message.labels.insert(to.clone());
            }
        }
    }

    /// A new message, or the one that it is a copy of.
    pub(super) fn append(
        &mut self,
        place: &Place,
        raw: &[u8],
        unix_time: u64,
        flags: &BTreeSet<String>,
    ) -> u64 {
        let part = Arc::new(Part::read(raw));
        if self.settings.duplicates == Duplicates::Merged
            && let Some(twin) = self.twin(raw, &part)
        {
            self.put(twin, place);
            return twin;
        }
        let msgid = FIRST_ID + self.made * ID_STEP;
        self.made += 1;
        let thrid = self.thread(raw, &part).unwrap_or(msgid);
        let mut flags = flags.clone();
        let deleted = flags.remove(DELETED);
        let message = Message {
            msgid,
            thrid,
            raw: raw.into(),
            part,
            unix_time,
            flags,
            labels: BTreeSet::new(),
            modseq: 0,
        };
        if let Some(id) = message.message_id() {
            self.named.entry(id).or_default().insert(msgid);
        }
        self.messages.insert(msgid, message);
        self.put(msgid, place);
        if deleted && let Some(uid) = self.uid(place, msgid) {
            self.mark(place, uid, Mark::Deleted);
        }
        msgid
    }

    /// Decided by octets, not by the id alone: a draft that was changed keeps its id and is another message (WildDuck,
    /// "duplicate message-ids", on what goes wrong otherwise).
    fn twin(&self, raw: &[u8], part: &Part) -> Option<u64> {
        let id = mime::field(part.header(raw), "message-id")?;
        let same = |msgid: &&u64| {
            self.messages
                .get(msgid)
                .is_some_and(|one| one.raw.as_ref() == raw)
        };
        self.named.get(&id)?.iter().find(same).copied()
    }

    /// The conversation of the message that it answers. A subject that changed begins another one, as Google's help page
    /// on conversations says; the id is that of the first message (node-imap, "X-GM-LABELS", shows both alike).
    fn thread(&self, raw: &[u8], part: &Part) -> Option<u64> {
        let header = part.header(raw);
        let subject = base_subject(&mime::field(header, "subject").unwrap_or_default());
        let fields = ["in-reply-to", "references"].map(|name| mime::field(header, name));
        let fields: Vec<String> = fields.into_iter().flatten().collect();
        let ids = fields.iter().flat_map(|ids| ids.split_ascii_whitespace());
        let named = ids.filter_map(|id| self.named.get(id)).flatten();
        let mut kin = named
            .filter_map(|msgid| self.messages.get(msgid))
            .filter(|one| {
                let theirs = mime::field(one.header(), "subject").unwrap_or_default();
                base_subject(&theirs) == subject
            });
        kin.next().map(|one| one.thrid)
    }

    /// What copying into a mailbox does: it gets the label. Trash and Spam take all others away (Yang Zhang's notes on
    /// Gmail and IMAP; a later copy of the same, "moving mail from inbox to trash", shows the label gone), and whatever is
    /// copied out of them leaves them.
    pub(super) fn put(&mut self, msgid: u64, place: &Place) {
        let is_apart = |message: &Message| message.labels.iter().any(Place::is_apart);
        if !place.is_apart() && self.message(msgid).is_some_and(is_apart) {
            self.change(msgid, |message| {
                message.labels.retain(|label| !label.is_apart())
            });
        }
        self.label(msgid, place);
    }

    /// What `+X-GM-LABELS` does. A label of the user's own does not take a message out of Trash or Spam; that of the inbox
    /// does, as only one of the three can be (lieer's list of caveats).
    pub(super) fn label(&mut self, msgid: u64, place: &Place) {
        if let Place::Label(_) = place {
            self.mailbox(place);
        }
        self.change(msgid, |message| match place {
            Place::All => {}
            Place::Starred => {
                message.flags.insert(FLAGGED.to_owned());
            }
            Place::Trash | Place::Spam => message.labels = BTreeSet::from([place.clone()]),
            Place::Inbox => {
                message.labels.retain(|label| !label.is_apart());
                message.labels.insert(Place::Inbox);
            }
            label => {
                message.labels.insert(label.clone());
            }
        });
    }

    /// What moving out of a mailbox does: the label goes. All Mail is no label, so that nothing can be moved out of it.
    pub(super) fn remove(&mut self, msgid: u64, place: &Place) {
        self.change(msgid, |message| match place {
            Place::Starred => {
                message.flags.remove(FLAGGED);
            }
            label => {
                message.labels.remove(label);
            }
        });
    }

    /// What expunging from a mailbox does: in Trash and Spam the message is gone for good, elsewhere the label goes.
    pub(super) fn expunge(&mut self, place: &Place, uid: u32) {
        let Some(msgid) = self.row(place, uid).map(|(row, _)| row.msgid) else {
            return;
        };
        if place.is_apart() {
            return self.destroy(msgid);
        }
        self.remove(msgid, place);
        let Some(message) = self.messages.get(&msgid) else {
            return;
        };
        // All Mail does not count as the last mailbox: with it shown, deleting from the inbox archives all the same
        // (courier, "delete archives instead of trashing"). Expunged from All Mail itself, a message is nowhere else either.
        if *place == Place::All || message.labels().is_empty() {
            match self.settings.last_label {
                LastLabel::Archive => self.mark(place, uid, Mark::Kept),
                LastLabel::Trash => self.put(msgid, &Place::Trash),
                LastLabel::DeleteForever => self.destroy(msgid),
            }
        }
    }

    pub(super) fn destroy(&mut self, msgid: u64) {
        let id = self
            .messages
            .remove(&msgid)
            .and_then(|message| message.message_id());
        if let Some(named) = id.and_then(|id| self.named.get_mut(&id)) {
            named.remove(&msgid);
        }
        for mailbox in self.boxes.values_mut() {
            mailbox.take_out(msgid);
        }
        self.modseq += 1;
    }

    pub(super) fn mark(&mut self, place: &Place, uid: u32, mark: Mark) {
        let deleted = mark == Mark::Deleted;
        let rows = self.boxes.get_mut(place).map(|mailbox| &mut mailbox.rows);
        if let Some(row) = rows
            .and_then(|rows| rows.get_mut(&uid))
            .filter(|row| row.deleted != deleted)
        {
            row.deleted = deleted;
            let msgid = row.msgid;
            self.touch(msgid);
        }
    }

    /// Sets flags that all mailboxes share.
    pub(super) fn set_flags(&mut self, msgid: u64, flags: BTreeSet<String>) {
        self.change(msgid, |message| message.flags = flags);
    }

    fn change(&mut self, msgid: u64, how: impl FnOnce(&mut Message)) {
        let Some(message) = self.messages.get_mut(&msgid) else {
            return;
        };
        let before = (message.flags.clone(), message.labels.clone());
        how(message);
        // One that was never put anywhere is new.
        if before != (message.flags.clone(), message.labels.clone()) || message.modseq == 0 {
            self.touch(msgid);
        }
        self.settle(msgid);
    }

    fn touch(&mut self, msgid: u64) {
        self.modseq += 1;
        if let Some(message) = self.messages.get_mut(&msgid) {
            message.modseq = self.modseq;
        }
    }

    /// INVARIANT: after each change, a message has a number in exactly the mailboxes in which it is seen. A mailbox that
    /// it comes back to gives it a new one.
    fn settle(&mut self, msgid: u64) {
        let Some(message) = self.messages.get(&msgid) else {
            return;
        };
        let places = message.places();
        for (place, mailbox) in &mut self.boxes {
            if !places.contains(place) {
                mailbox.take_out(msgid);
            }
        }
        for place in &places {
            self.mailbox(place).take_in(msgid);
        }
    }
}

impl Mailbox {
    /// Gives a number to what has none yet.
    fn take_in(&mut self, msgid: u64) {
        if self.uids.contains_key(&msgid) {
            return;
        }
        let row = Row {
            msgid,
            deleted: false,
        };
        self.rows.insert(self.uidnext, row);
        self.uids.insert(msgid, self.uidnext);
        self.uidnext += 1;
    }

    fn take_out(&mut self, msgid: u64) {
        if let Some(uid) = self.uids.remove(&msgid) {
            self.rows.remove(&uid);
        }
    }
}

/// A subject without the marks of answers.
fn base_subject(subject: &str) -> String {
    let mut subject = subject.trim();
    while let Some((mark, rest)) = subject.split_once(':') {
        if !["re", "fw", "fwd", "aw", "wg"].contains(&mark.trim().to_lowercase().as_str()) {
            break;
        }
        subject = rest.trim();
    }
    subject.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> Store {
        Store::new(Settings::default())
    }

    fn put(store: &mut Store, place: &Place, raw: &str) -> u64 {
        store.append(place, raw.as_bytes(), 0, &BTreeSet::new())
    }

    fn seen_in(store: &Store, msgid: u64) -> Vec<(Place, u32)> {
        let places = store.places().into_iter();
        places
            .filter_map(|place| store.uid(&place, msgid).map(|uid| (place, uid)))
            .collect()
    }

    #[test]
    fn a_message_is_seen_where_its_labels_say() {
        let mut store = store();
        let work = Place::label("Work");
        let one = put(&mut store, &Place::Inbox, "Message-ID: <1@x>\r\n\r\n1");
        assert_eq!(seen_in(&store, one), [(Place::Inbox, 1), (Place::All, 1)]);
        store.put(one, &work);
        store.remove(one, &Place::Inbox);
        assert_eq!(seen_in(&store, one), [(Place::All, 1), (work.clone(), 1)]);
        store.put(one, &Place::Inbox);
        assert_eq!(store.uid(&Place::Inbox, one), Some(2), "a new number");
        store.put(one, &Place::Trash);
        assert_eq!(seen_in(&store, one), [(Place::Trash, 1)]);
        store.put(one, &work);
        assert_eq!(seen_in(&store, one), [(Place::All, 2), (work.clone(), 2)]);
        store.put(one, &Place::Starred);
        assert!(store.message(one).unwrap().flags.contains(FLAGGED));
        store.remove(one, &Place::Starred);
        assert!(store.message(one).unwrap().flags.is_empty());
    }

    #[test]
    fn expunging_takes_the_label_and_the_last_one_decides() {
        for (last, want) in [
            (LastLabel::Archive, Some(Place::All)),
            (LastLabel::Trash, Some(Place::Trash)),
            (LastLabel::DeleteForever, None),
        ] {
            let mut store = store();
            store.settings.last_label = last;
            let one = put(&mut store, &Place::Inbox, "a: b\r\n\r\n");
            store.put(one, &Place::label("Work"));
            store.expunge(&Place::Inbox, 1);
            assert_eq!(seen_in(&store, one).len(), 2, "it still has a label");
            store.expunge(&Place::label("Work"), 1);
            let left: Vec<Place> = seen_in(&store, one)
                .into_iter()
                .map(|(place, _)| place)
                .collect();
            assert_eq!(left, Vec::from_iter(want), "{last:?}");
        }
        let mut store = store();
        let one = put(&mut store, &Place::Spam, "a: b\r\n\r\n");
        store.expunge(&Place::Spam, 1);
        assert!(store.message(one).is_none());
    }

    #[test]
    fn the_same_octets_are_one_message() {
        let raw = "Message-ID: <1@x>\r\n\r\n1";
        let mut store = store();
        let one = put(&mut store, &Place::Trash, raw);
        assert_eq!(put(&mut store, &Place::Inbox, raw), one);
        assert_eq!(seen_in(&store, one), [(Place::Inbox, 1), (Place::All, 1)]);
        assert_ne!(
            put(&mut store, &Place::Inbox, "Message-ID: <1@x>\r\n\r\n2"),
            one
        );
        let nameless = put(&mut store, &Place::Inbox, "a: b\r\n\r\n1");
        assert_ne!(put(&mut store, &Place::Inbox, "a: b\r\n\r\n1"), nameless);
        store.settings.duplicates = Duplicates::Kept;
        assert_ne!(put(&mut store, &Place::Inbox, raw), one);
    }

    #[test]
    fn answers_of_the_same_subject_are_one_conversation() {
        let mut store = store();
        let mail = |id: &str, subject: &str, to: &str| {
            format!("Message-ID: <{id}>\r\nSubject: {subject}\r\nIn-Reply-To: {to}\r\n\r\n")
        };
        let one = put(&mut store, &Place::Inbox, &mail("1", "Plan", ""));
        let two = put(&mut store, &Place::Inbox, &mail("2", "Re: plan", "<1>"));
        let three = put(&mut store, &Place::Inbox, &mail("3", "Another", "<1>"));
        let thread = |msgid| store.message(msgid).unwrap().thrid;
        assert_eq!((thread(one), thread(two), thread(three)), (one, one, three));
    }
}

//! A message on its way into a mailbox: bytes, arrival time, flags. Does not say where it goes.

/// The system flags of RFC 3501 section 2.3.2 (\Recent aside, which is the server's).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    Draft,
    Flagged,
    Answered,
    Seen,
    Deleted,
}

impl Flag {
    pub fn imap(self) -> &'static str {
        match self {
            Flag::Draft => r"\Draft",
            Flag::Flagged => r"\Flagged",
            Flag::Answered => r"\Answered",
            Flag::Seen => r"\Seen",
            Flag::Deleted => r"\Deleted",
        }
    }

    /// The letter in a Maildir file name; the enum's order is the letters' order.
    pub(crate) fn maildir(self) -> char {
        match self {
            Flag::Draft => 'D',
            Flag::Flagged => 'F',
            Flag::Answered => 'R',
            Flag::Seen => 'S',
            Flag::Deleted => 'T',
        }
    }
}

/// One message to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message as stored, byte for byte.
    pub raw: Vec<u8>,
    /// INTERNALDATE, in seconds since 1970.
    pub unix_time: u64,
    pub flags: Vec<Flag>,
}

impl Delivery {
    /// An unread message that arrived on 2026-01-01 00:00 UTC.
    pub fn new(raw: impl Into<Vec<u8>>) -> Self {
        Self {
            raw: raw.into(),
            unix_time: 1_767_225_600,
            flags: Vec::new(),
        }
    }

    #[must_use]
    pub fn at(mut self, unix_time: u64) -> Self {
        self.unix_time = unix_time;
        self
    }

    #[must_use]
    pub fn flags(mut self, flags: &[Flag]) -> Self {
        self.flags = flags.to_vec();
        self
    }
}

/// Messages for an empty folder, whose numbers the test chooses.
#[derive(Clone, Copy, Debug)]
pub struct Seeds<'a> {
    pub uidvalidity: u32,
    /// All that the messages carry, 26 at most.
    pub keywords: &'a [&'a str],
    /// By ascending UID.
    pub messages: &'a [Seed],
}

/// A message and the UID it will have.
#[derive(Clone, Debug)]
pub struct Seed {
    pub uid: u32,
    pub delivery: Delivery,
    pub keywords: Vec<&'static str>,
}

/// A moment taken apart, in UTC, for the date formats of mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: u64,
    /// 1 to 12.
    pub(crate) month: usize,
    pub(crate) month_name: &'static str,
    pub(crate) day: u64,
    pub(crate) weekday_name: &'static str,
    pub(crate) hour: u64,
    pub(crate) minute: u64,
    pub(crate) second: u64,
}

impl Date {
    pub(crate) fn from_unix(unix_time: u64) -> Self {
        const MONTHS: [&str; 12] = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
        let days = unix_time / 86_400;
        // Years that begin in March: a leap day is then a year's last. Day 0 is 1 March of the year 0.
        let since_march = days + 719_468;
        let era_day = since_march % 146_097;
        let era_year = (era_day - era_day / 1_460 + era_day / 36_524 - era_day / 146_096) / 365;
        let year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
        let march_month = (5 * year_day + 2) / 153;
        let month = (march_month as usize + 2) % 12;
        Self {
            year: since_march / 146_097 * 400 + era_year + u64::from(month < 2),
            month: month + 1,
            month_name: MONTHS[month],
            day: year_day - (153 * march_month + 2) / 5 + 1,
            weekday_name: WEEKDAYS[(days % 7) as usize],
            hour: unix_time / 3_600 % 24,
            minute: unix_time / 60 % 60,
            second: unix_time % 60,
        }
    }
}

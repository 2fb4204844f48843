//! Every key of `limits:` in `callers.yaml`.

use crate::config::dir::shape::Need::{Optional, Otherwise};
use crate::config::dir::shape::{Key, Keys, Named, Shape, key};

const CALLS_PER_MINUTE: Key = key(
    "calls_per_minute",
    Optional,
    Shape::Whole {
        such_as: 120,
        low: 1,
        high: 1_000_000,
    },
    "So many calls a minute, refused ones included.",
);
const BURST: Key = key(
    "burst",
    Otherwise("a quarter of calls_per_minute, at least 1"),
    Shape::Whole {
        such_as: 30,
        low: 1,
        high: 1_000_000,
    },
    "So many of them at once, after a pause.",
);
const CONCURRENT: Key = key(
    "concurrent",
    Optional,
    Shape::Whole {
        such_as: 8,
        low: 1,
        high: 10_000,
    },
    "So many calls under way at a time, in each process.",
);
const BYTES_PER_HOUR: Key = key(
    "bytes_per_hour",
    Optional,
    Shape::Whole {
        such_as: 50_000_000,
        low: 1,
        high: 1_000_000_000_000,
    },
    "So many bytes of answers an hour.",
);
const MESSAGES_PER_HOUR: Key = key(
    "messages_per_hour",
    Optional,
    Shape::Whole {
        such_as: 2_000,
        low: 1,
        high: 1_000_000_000,
    },
    "So many messages shown an hour; each line of a search is one.",
);

pub(in crate::config::dir) static LIMITS: Keys = Keys {
    what: "the 'limits'",
    keys: &[
        CALLS_PER_MINUTE,
        BURST,
        CONCURRENT,
        BYTES_PER_HOUR,
        MESSAGES_PER_HOUR,
        key(
            "tools",
            Optional,
            Shape::Named(&LIMITED_TOOLS),
            "Besides those: limits for single tools.",
        ),
        key(
            "accounts",
            Optional,
            Shape::Named(&LIMITED_ACCOUNTS),
            "Besides those: limits for what is asked of single accounts.",
        ),
    ],
};

static LIMITED_TOOLS: Named = Named {
    what: "tools",
    about: "The limits of a tool, by its name.",
    each: Shape::Keys(&MEASURE),
};

static LIMITED_ACCOUNTS: Named = Named {
    what: "accounts",
    about: "The limits of an account, by its id.",
    each: Shape::Keys(&MEASURE),
};

pub(in crate::config::dir) static MEASURE: Keys = Keys {
    what: "the limits of a tool or an account",
    keys: &[
        CALLS_PER_MINUTE,
        BURST,
        CONCURRENT,
        BYTES_PER_HOUR,
        MESSAGES_PER_HOUR,
    ],
};

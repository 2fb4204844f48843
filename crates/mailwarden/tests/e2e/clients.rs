//! Clients that others wrote, in both eras, over HTTP and stdio, against the built binary and a real Dovecot: what a host will do
//! is what they do. The conformance suite is here too, as far as a program without fixtures can answer it.

mod conformance;
mod conversation;
mod inspector;
mod served;

use testkit::clients::{Era, Errands, Sdk};

use conversation::converse;
use served::House;

/// All of the conversation, over both ways.
fn talks(sdk: Sdk, era: Era) {
    let house = House::new();
    let server = house.serve();
    for way in [house.http(&server), house.stdio()] {
        let mut client = Errands::start(sdk, era, &way);
        converse(&mut client, era, &way);
    }
}

#[test]
fn the_python_sdk_with_a_handshake() {
    talks(Sdk::Python, Era::Legacy);
}

#[test]
fn the_python_sdk_without_one() {
    talks(Sdk::Python, Era::Modern);
}

#[test]
fn the_first_typescript_sdk() {
    talks(Sdk::TypeScript1, Era::Legacy);
}

#[test]
fn the_second_typescript_sdk_with_a_handshake() {
    talks(Sdk::TypeScript2, Era::Legacy);
}

#[test]
fn the_second_typescript_sdk_without_one() {
    talks(Sdk::TypeScript2, Era::Modern);
}

//! Links inside a store lead nowhere: a canary that lies outside is neither found nor opened.

use std::os::unix::fs::symlink;

use mail::{Effort, HeaderId, Within};

use super::*;

const CANARY: &str = "From: canary@b.example\nSubject: canary\nMessage-ID: <canary>\n\nyellow\n";
const EFFORT: Effort = Effort {
    folders: 100,
    rounds: 100,
    messages: 1_000,
};

/// `mail` with one message and links of every kind to `outside`, where the canary lies in every form.
fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    for directory in [
        "outside/cur",
        "outside/new",
        "outside/sent/cur",
        "mail/cur",
        "mail/new",
        "mail/.Half",
        "mail/.New/cur",
        "mail/deep",
    ] {
        fs::create_dir_all(at(directory)).unwrap();
    }
    for file in [
        "cur/1000000001.c:2,",
        "new/1000000002.c",
        "sent/cur/1000000003.c:2,",
    ] {
        fs::write(at("outside").join(file), CANARY).unwrap();
    }
    let boxed = format!("From a Mon Nov  3 10:12:30 2025\n{CANARY}\n");
    fs::write(at("outside/box"), boxed).unwrap();
    fs::write(
        at("mail/cur/1000000009.i:2,"),
        CANARY.replace("canary", "inside"),
    )
    .unwrap();
    for (link, to) in [
        ("mail/.Linked", "outside"),
        ("mail/linked", "outside"),
        ("mail/deep/linked", "outside"),
        ("mail/.Half/cur", "outside/cur"),
        ("mail/.New/new", "outside/new"),
        ("mail/cur/1000000001.c:2,", "outside/cur/1000000001.c:2,"),
        ("mail/new/1000000002.c", "outside/new/1000000002.c"),
        ("mail/box", "outside/box"),
    ] {
        symlink(at(to), at(link)).unwrap();
    }
    home
}

fn source(root: PathBuf) -> Maildir {
    Maildir::open(AccountId::new("home").unwrap(), root)
}

async fn ask_everything(source: &Maildir) -> Vec<String> {
    let cx = Cx::new();
    source.verify(&cx).await.unwrap();
    let folders = source.folders(&cx).await.unwrap().folders;
    let mut names: Vec<String> = folders.iter().map(|one| one.name.to_string()).collect();
    let guesses = [
        "Linked",
        "linked",
        "linked/sent",
        "deep/linked",
        "deep/linked/sent",
        "Half",
        "box",
    ];
    names.extend(guesses.map(str::to_owned));
    let mut found = Vec::new();
    for name in &names {
        for query in [Query::default(), query(&[("text", "yellow")])] {
            let mut wanted = search(query);
            wanted.folder = FolderName::new(name.clone()).unwrap();
            let Ok(page) = source.search(&cx, &wanted).await else {
                continue;
            };
            assert!(page.missing.is_empty());
            found.extend(
                subjects(&page)
                    .iter()
                    .map(|subject| format!("{name}:{subject}")),
            );
        }
    }
    for id in ["canary", "inside"] {
        let only = names
            .iter()
            .map(|name| FolderName::new(name.clone()).unwrap());
        for within in [Within::All, Within::Only(only.collect())] {
            let sought = Sought {
                ids: vec![HeaderId::new(id.as_bytes()).unwrap()],
                within,
                effort: EFFORT,
            };
            let located = source.locate(&cx, &sought).await.unwrap();
            let kindred = source.kindred(&cx, &sought).await.unwrap();
            assert_eq!(located.members, kindred.members);
            for member in located.members {
                if let Some(file) = source.file(&cx, &member.at).await.unwrap() {
                    assert!(fs::symlink_metadata(file).unwrap().is_file());
                }
                found.push(format!("{}:{id}", member.at.folder));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[tokio::test]
async fn nothing_behind_a_link_is_found() {
    let home = home();
    let source = source(home.path().join("mail"));
    #[cfg(target_os = "linux")]
    let watch = Watch::over(&home.path().join("outside"));
    assert_eq!(ask_everything(&source).await, ["INBOX:inside"]);
    let folders = source.folders(&Cx::new()).await.unwrap();
    let names: Vec<&str> = folders
        .folders
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["INBOX", "New"]);
    #[cfg(target_os = "linux")]
    {
        assert!(!watch.saw(), "something outside was opened or listed");
        fs::read_dir(home.path().join("outside/sent/cur")).unwrap();
        assert!(watch.saw(), "it would have been seen");
    }
}

#[tokio::test]
async fn the_root_itself_may_be_a_link() {
    let home = home();
    for (link, to) in [("a", "mail"), ("b", "outside"), ("c", "outside/box")] {
        symlink(home.path().join(to), home.path().join(link)).unwrap();
    }
    let ask = async |link: &str| ask_everything(&source(home.path().join(link))).await;
    assert_eq!(ask("a").await, ["INBOX:inside"]);
    let outside = ["INBOX:canary", "box:canary", "sent:canary"];
    assert_eq!(ask("b").await, outside);
    let cx = Cx::new();
    let boxed = source(home.path().join("c"));
    let folders = boxed.folders(&cx).await.unwrap().folders;
    assert_eq!(folders.len(), 1);
    let page = boxed.search(&cx, &search(Query::default())).await.unwrap();
    assert_eq!(subjects(&page), ["canary"]);
}

/// Sees whoever opens or lists anything in a directory.
#[cfg(target_os = "linux")]
struct Watch(std::os::fd::OwnedFd);

#[cfg(target_os = "linux")]
impl Watch {
    fn over(directory: &Path) -> Self {
        use rustix::fs::inotify;
        let watch = Self(inotify::init(inotify::CreateFlags::NONBLOCK).unwrap());
        let mut all = vec![directory.to_owned()];
        while let Some(path) = all.pop() {
            if path.is_dir() {
                all.extend(fs::read_dir(&path).unwrap().map(|one| one.unwrap().path()));
            }
            let events = inotify::WatchFlags::OPEN | inotify::WatchFlags::ACCESS;
            inotify::add_watch(&watch.0, path, events).unwrap();
        }
        // What was walked through here.
        while watch.saw() {}
        watch
    }

    /// Anything since it was asked last.
    fn saw(&self) -> bool {
        let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 4_096];
        let mut reader = rustix::fs::inotify::Reader::new(&self.0, &mut buffer);
        reader.next().is_ok()
    }
}

#!/bin/sh
# Seeds fuzz/corpus from the quirk corpus of crates/imap: each `<` line becomes a transcript.
set -eu
cd "$(dirname "$0")"
mkdir -p corpus/imap_responses corpus/imap_utf7
python3 - <<'PY'
import pathlib, re

count = 0
for source in sorted(pathlib.Path("../crates/imap/tests/corpus").glob("*.txt")):
    for line in source.read_text(encoding="utf-8").splitlines():
        if not line.startswith("< "):
            continue
        text = line[2:]
        end = "\n" if text.endswith("␊") else "\r\n"
        data = (text.removesuffix("␊") + end).replace("⏎", "\r\n").encode()
        octet = "‹([0-9a-f]{2})›".encode()
        data = re.sub(octet, lambda found: bytes([int(found[1], 16)]), data)
        pathlib.Path(f"corpus/imap_responses/{source.stem}-{count}").write_bytes(data)
        count += 1
for number, name in enumerate(["INBOX", "R&-D", "Entw&APw-rfe", "~peter/mail/&U,BTFw-/&ZeVnLIqe-", "&2D3c5g- x"]):
    pathlib.Path(f"corpus/imap_utf7/{number}").write_bytes(name.encode())
print(count, "seeds")
PY

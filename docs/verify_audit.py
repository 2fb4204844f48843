#!/usr/bin/env python3
import glob, gzip, hashlib, json, os, sys  # verify_audit.py DIRECTORY: hashes, chain, numbers and Merkle root of an audit log
days = {os.path.basename(p)[:10]: p for p in sorted(glob.glob(sys.argv[1] + "/????-??-??.jsonl*"), reverse=True)}
sha, size, prev, peaks = lambda data: hashlib.sha256(data).digest(), None, "0" * 64, []  # peaks: (height, hash) of the perfect trees so far, the highest first
for day, path in sorted(days.items()):
    for number, line in enumerate((gzip.open if path.endswith(".gz") else open)(path, "rb"), 1):
        if day == max(days) and not line.endswith(b"\n"): break  # it is being written
        if size is None and not line.startswith(b'{"seq":0,'):  # older days were deleted: begin with what this one states
            first = json.loads(line); size, prev = first["tree_size"], first["prev_hash"]
            peaks = list(zip([h for h in range(63, -1, -1) if size >> h & 1], map(bytes.fromhex, first["peaks"])))
        size, text, own = size or 0, line[:-76], sha(b"\0" + line[:-76])
        head, then = b'{"seq":%d,"ts":"' % size, b'","prev_hash":"%s","event":"' % prev.encode()
        right = text.startswith(head) and text[len(head) + 27:].startswith(then) and line[-76:] == b',"hash":"%s"}\n' % own.hex().encode()
        if not right: sys.exit(f"BAD: record {size}, {path}, line {number}")
        size, prev, peak = size + 1, own.hex(), (0, own)
        while peaks and peaks[-1][0] == peak[0]: peak = (peak[0] + 1, sha(b"\1" + peaks.pop()[1] + peak[1]))
        peaks.append(peak)
root = peaks.pop()[1] if peaks else sha(b"")
while peaks: root = sha(b"\1" + peaks.pop()[1] + root)
print(f"{size or 0} records, root {root.hex()}")

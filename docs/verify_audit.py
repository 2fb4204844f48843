import functools, glob, gzip, hashlib, json, re, sys  # verify_audit.py DIRECTORY: hashes, chain, numbers and Merkle root of an audit log
def sha(data): return hashlib.sha256(data).digest()
days = sorted(p for p in glob.glob(sys.argv[1] + "/*") if re.search(r"/\d{4}-\d\d-\d\d\.jsonl(\.gz)?$", p))
days = [p for p in days if not (p.endswith(".gz") and p[:-3] in days)]  # a day in both forms: the plain one counts
size, prev, peaks = None, "0" * 64, []  # peaks: height and hash of the perfect trees so far, the highest first
for path in days:
    for number, line in enumerate((gzip.open if path.endswith(".gz") else open)(path, "rb"), 1):
        if path == days[-1] and not line.endswith(b"\n"): break  # it is being written
        head = re.match(rb'\{"seq":(\d+),"ts":"[^"]{27}","prev_hash":"([0-9a-f]{64})","event":"', line)
        own = sha(b"\0" + line[:-76])
        whole = head and line[-76:] == b',"hash":"%s"}\n' % own.hex().encode()
        if size is None and whole and b'"peaks":[' in line:  # the first record states the tree over all records before it
            size, prev, stated = (json.loads(line)[key] for key in ("seq", "prev_hash", "peaks"))
            peaks = list(zip([h for h in range(63, -1, -1) if size >> h & 1], map(bytes.fromhex, stated)))
        if not whole or (int(head[1]), head[2].decode()) != (size, prev): sys.exit(f"BAD: record {size or 0}, {path}, line {number}")
        size, prev, peak = size + 1, own.hex(), (0, own)
        while peaks and peaks[-1][0] == peak[0]: peak = (peak[0] + 1, sha(b"\1" + peaks.pop()[1] + peak[1]))
        peaks.append(peak)
if not peaks: sys.exit("there is no log in " + sys.argv[1])
print(size, "records, root", functools.reduce(lambda right, left: sha(b"\1" + left[1] + right), peaks[-2::-1], peaks[-1][1]).hex())

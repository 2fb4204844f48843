#!/usr/bin/env bash
# Installs what the tests need and is missing: Dovecot, PostgreSQL, GnuPG and GNOME Keyring by apt, Cyrus unpacked under
# target/testkit/cyrus (it and Dovecot exclude each other, so Cyrus is never installed), and an OpenID Connect server by npm
# under target/testkit/oidc, and MCP clients and the conformance suite by npm and pip under target/testkit/clients. Chromium too, where it can be had within minutes: without it the records of what it shows stand
# for it. Instant when everything is there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cyrus=${MAILWARDEN_CYRUS_ROOT:-$(dirname "$(dirname "$here")")/target/testkit/cyrus}
oidc=${MAILWARDEN_OIDC_ROOT:-$(dirname "$(dirname "$here")")/target/testkit/oidc}
clients=${MAILWARDEN_CLIENTS_ROOT:-$(dirname "$(dirname "$here")")/target/testkit/clients}
dovecot_packages=(dovecot-core dovecot-imapd)
postgres_packages=(postgresql postgresql-client)
secret_packages=(gnupg gnome-keyring libsecret-tools dbus-daemon)
cyrus_packages=(cyrus-common cyrus-imapd sasl2-bin)
# Unpacked beside Cyrus where the system lacks them.
library_packages=(libical3 libpcre3 libxapian30 libjansson4 libsasl2-2 libsasl2-modules libsasl2-modules-db
  libicu72 libpq5 libldap-2.5-0 libwrap0 libxml2)

fail() {
  printf '%s\n' "testkit: $*" >&2
  exit 1
}

have_dovecot() {
  [[ -x /usr/sbin/dovecot ]] || command -v dovecot >/dev/null || return 1
  [[ -x /usr/lib/dovecot/imap || -x /usr/libexec/dovecot/imap ]]
}

have_postgres() {
  local program
  [[ -n ${MAILWARDEN_POSTGRES:-} ]] && return
  for program in /usr/lib/postgresql/*/bin/postgres; do
    [[ -x $program && -x $(dirname "$program")/psql ]] && return
  done
  return 1
}

# Without a cluster of the system's own: tests have theirs, and nothing is to listen that nobody asked for.
install_postgres() {
  local settings=/etc/postgresql-common/createcluster.conf
  if [[ ! -e $settings ]] && as_root mkdir -p "$(dirname "$settings")"; then
    printf '%s\n' 'create_main_cluster = false' | as_root tee "$settings" >/dev/null || true
  fi
  install_packages "PostgreSQL 15 or later" "${postgres_packages[@]}"
}

# Runs a command as root, or fails without asking for a password.
as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    sudo -n "$@"
  else
    return 1
  fi
}

have_chromium() {
  [[ -n ${MAILWARDEN_CHROMIUM:-} || -x /usr/bin/chromium || -x /usr/bin/chromium-browser || -x /usr/bin/google-chrome ]]
}

install_chromium() {
  command -v apt-get >/dev/null || return 1
  apt_chromium() {
    as_root timeout 300 env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qy --no-install-recommends chromium >/dev/null 2>&1
  }
  apt_chromium || { as_root timeout 60 apt-get update -q >/dev/null 2>&1 && apt_chromium; }
}

# What keeps secrets: gpg, and a keyring on a bus of its own.
have_secrets() {
  local program
  for program in gpg gpgconf gnome-keyring-daemon secret-tool dbus-run-session; do
    command -v "$program" >/dev/null || return 1
  done
}

# Installs packages by apt: their name for people, then each of them.
install_packages() {
  local name=$1
  shift
  local wanted="$*"
  command -v apt-get >/dev/null || fail "please install $name (Debian: $wanted), it is needed by the tests"
  apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$@" >/dev/null 2>&1
  }
  apt_install "$@" || { as_root apt-get update -q >/dev/null 2>&1 && apt_install "$@"; } ||
    fail "please run 'apt-get install $wanted' as root, the tests need it"
}

# Fetches packages into the current directory, one by one: a library unknown to this release may not be needed.
download() {
  local package got=0
  for package in "$@"; do
    apt-get download -q "$package" >/dev/null 2>&1 || got=1
  done
  return "$got"
}

installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

library_path() {
  local dirs=("$1"/usr/lib/*-linux-gnu* "$1"/lib/*-linux-gnu*)
  (IFS=: && printf '%s' "${dirs[*]}")
}

unpack_cyrus() {
  local packages="${cyrus_packages[*]}" parent work missing library
  command -v apt-get >/dev/null || fail "the tests need Cyrus IMAP unpacked at $cyrus (Debian packages $packages)"
  parent=$(dirname "$cyrus")
  mkdir -p "$parent"
  work=$(mktemp -d "$parent/cyrus.XXXXXX")
  # shellcheck disable=SC2064 # the directory is known now and does not change
  trap "rm -rf -- '$work'" EXIT
  mkdir "$work/debs" "$work/root"
  cd "$work/debs"
  download "${cyrus_packages[@]}" || { as_root apt-get update -q >/dev/null 2>&1 && download "${cyrus_packages[@]}"; } ||
    fail "cannot download $packages; please run 'apt-get update' as root and try again"
  for library in "${library_packages[@]}"; do
    installed "$library" || download "$library" || true
  done
  for deb in *.deb; do
    dpkg -x "$deb" "$work/root"
  done
  missing=$(LD_LIBRARY_PATH=$(library_path "$work/root") \
    ldd "$work"/root/usr/lib/cyrus/bin/{master,imapd,idled,ctl_cyrusdb} "$work/root/usr/sbin/saslpasswd2" |
    awk '/not found/ { print $1 }' | sort -u | paste -sd ' ')
  [[ -z $missing ]] || fail "Cyrus needs shared libraries that are not installed: $missing"
  # The server does not run as root.
  chmod 755 "$work" "$work/root"
  rm -rf "$cyrus"
  mv "$work/root" "$cyrus"
}

# The server's packages are there, and are those of the lock file.
have_oidc() {
  cmp -s "$here/oidc/package-lock.json" "$oidc/package-lock.json" && [[ -d $oidc/node_modules/oidc-provider ]] && have_node
}

# Node 20 or later, by itself or beside the server's packages.
have_node() {
  local node=$oidc/node_modules/.bin/node
  [[ -x $node ]] || node=node
  "$node" -e 'process.exit(typeof URL.parse === "function" ? 0 : 1)' 2>/dev/null
}

install_oidc() {
  local work
  command -v npm >/dev/null || install_packages "Node.js 20 or later with npm" nodejs npm
  mkdir -p "$(dirname "$oidc")"
  work=$(mktemp -d "$(dirname "$oidc")/oidc.XXXXXX")
  cp "$here/oidc/package.json" "$work"
  cp "$here/oidc/package-lock.json" "$work"
  if ! npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error >"$work/npm.log" 2>&1; then
    cat "$work/npm.log" >&2
    rm -rf -- "$work"
    fail "npm cannot install the OpenID Connect server of the tests"
  fi
  rm -- "$work/npm.log"
  chmod 755 "$work"
  rm -rf -- "$oidc"
  mv "$work" "$oidc"
  # Stable releases have an older Node than the server takes.
  have_node || npm install --prefix "$oidc" --no-save --no-audit --no-fund --loglevel=error node@22 >/dev/null 2>&1 ||
    fail "please install Node.js 20 or later, the tests need it"
}

# The clients' packages are there, and are those of the lock files.
have_clients() {
  cmp -s "$here/clients/package-lock.json" "$clients/package-lock.json" &&
    cmp -s "$here/clients/requirements.txt" "$clients/requirements.txt" &&
    [[ -d $clients/node_modules/@modelcontextprotocol/conformance && -x $clients/python/bin/python ]]
}

# By npm and pip at once: either takes most of its time waiting.
install_clients() {
  local work npm_failed=0
  command -v npm >/dev/null || install_packages "Node.js with npm" nodejs npm
  python3 -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null ||
    install_packages "Python 3.11 or later with venv" python3 python3-venv
  mkdir -p "$(dirname "$clients")"
  work=$(mktemp -d "$(dirname "$clients")/clients.XXXXXX")
  cp "$here/clients/package.json" "$here/clients/package-lock.json" "$work"
  # `npm ci` wants every platform's optional packages in the lock file; npm leaves those of other platforms out of it.
  npm install --prefix "$work" --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >"$work/npm.log" 2>&1 &
  local npm=$!
  # A virtual environment knows its own path, so it is made where it stays.
  rm -rf -- "$clients"
  mkdir "$clients"
  if ! { python3 -m venv "$clients/python" &&
    "$clients/python/bin/pip" install --quiet --disable-pip-version-check --no-compile --require-hashes --no-deps \
      --requirement "$here/clients/requirements.txt"; } >"$work/pip.log" 2>&1; then
    kill "$npm" 2>/dev/null || true
    cat "$work/pip.log" >&2
    rm -rf -- "$work"
    fail "pip cannot install the Python MCP client of the tests"
  fi
  wait "$npm" || npm_failed=1
  if ((npm_failed)); then
    cat "$work/npm.log" >&2
    rm -rf -- "$work"
    fail "npm cannot install the MCP clients of the tests"
  fi
  mv "$work/node_modules" "$work/package.json" "$clients"
  # Last: they say that all of it is there.
  cp "$here/clients/requirements.txt" "$work/package-lock.json" "$clients"
  rm -rf -- "$work"
}

have_dovecot || install_packages "Dovecot 2.3" "${dovecot_packages[@]}"
have_postgres || install_postgres
have_secrets || install_packages "GnuPG and GNOME Keyring" "${secret_packages[@]}"
[[ -x $cyrus/usr/lib/cyrus/bin/imapd ]] || unpack_cyrus
have_oidc || install_oidc
have_clients || install_clients
have_chromium || install_chromium ||
  printf '%s\n' "testkit: no Chromium here; pages are compared with its recorded answers" >&2

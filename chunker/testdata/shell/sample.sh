#!/usr/bin/env bash
# Copyright 2026 Somebody.
#
# SPDX-License-Identifier: MIT

# Backs up a directory to a remote host and keeps the last few archives.
#
# Usage: backup.sh [-n] SOURCE HOST

set -euo pipefail

# shellcheck source=lib/log.sh
source "$(dirname "$0")/lib/log.sh"
. ./lib/retry.sh
source "${BASH_SOURCE%/*}/../common/net.bash"
[ -f ~/.backuprc ] && . ~/.backuprc

readonly KEEP=${KEEP:-7}
declare -A SEEN=()
dry=0

# usage prints how to call this script.
usage() {
  cat <<TEXT
usage: ${0##*/} [-n] SOURCE HOST

Functions in a text such as
not_a_function() {
}
stay text.
TEXT
}

# Makes an archive of $1.
# Prints its path.
function archive {
  local dir=$1 out
  out=$(mktemp -t "backup-XXXXXX.tar.gz")
  tar -C "$dir" -czf "$out" . || return 1
  printf '%s\n' "$out"
}

function upload() (
  # A subshell, so that cd stays in here.
  cd "$(dirname "$1")"
  retry 3 scp -q "$(basename "$1")" "$2:backups/"
)

if command -v sha256sum >/dev/null; then
  # digest prints the checksum of a file.
  digest() {
    sha256sum "$1" | cut -d' ' -f1
  }
else
  digest() {
    shasum -a 256 "$1" | cut -d' ' -f1
  }
fi

prune() {
  local host=$1 old

  # Drops what is older than the last KEEP.
  drop_one() {
    ssh "$host" rm -f -- "backups/$1"
    SEEN[$1]=1
  }

  while read -r old; do
    drop_one "$old"
  done < <(ssh "$host" ls -1t backups | tail -n +$((KEEP + 1)))
}

one() { echo 1; }; two() { echo 2; }

main() {
  while getopts n opt; do
    case $opt in
      n) dry=1 ;;
      *)
        usage >&2
        exit 2
        ;;
    esac
  done
  shift $((OPTIND - 1))

  local file
  file=$(archive "$1")
  log "archive $file has $(digest "$file")"
  if ((dry)); then
    return
  fi
  upload "$file" "$2"
  prune "$2"
}

main "$@"

#!/bin/sh
# SPDX-License-Identifier: MIT

# Puts a new version on the servers. Needs ssh.
set -eu

upload() {
	scp demo "$1":
}

restart() {
	ssh "$1" systemctl restart demo
}

#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command beside a throwaway Prometheus that scrapes the given targets every second, with our rules loaded.
#
#   bin/with-prometheus.sh HOST:PORT[,HOST:PORT...] COMMAND [ARGUMENT...]
#
# The command finds the server's address in PROMETHEUS_URL; its exit status is the script's. The server listens on the
# loopback address only, at a free port (or PROMETHEUS_PORT), keeps its data in a temporary folder (or
# PROMETHEUS_DATA, which then stays) and ends with the command. JOB sets the job label (default: memopt).
# Needs `prometheus`; no service, no root. The first scrape comes about five seconds after the start.
set -euo pipefail

if [ $# -lt 2 ]; then
  sed -n '7,12s/^# \{0,1\}//p' "$0" >&2
  exit 64
fi
targets=$1
shift
command -v prometheus >/dev/null || { echo "with-prometheus: prometheus is not installed" >&2; exit 69; }

rules=$(cd "$(dirname "$0")/../src/main/resources/io/memopt/grafana/rules" && pwd)
work=$(mktemp -d)
data=${PROMETHEUS_DATA:-$work/data}
server=
finish() {
  if [ -n "$server" ]; then
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cat >"$work/prometheus.yml" <<YAML
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: ["$rules/memopt-recording.yml", "$rules/memopt-alerts.yml"]
scrape_configs:
  - job_name: "${JOB:-memopt}"
    static_configs: [{targets: ["${targets//,/\", \"}"]}]
YAML

# Nothing hands out free ports to shell scripts: try one, and another when the server ends because it was taken.
for _ in 1 2 3 4 5; do
  port=${PROMETHEUS_PORT:-$((20000 + RANDOM % 20000))}
  prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$data" \
    --web.listen-address="127.0.0.1:$port" >"$work/log" 2>&1 &
  server=$!
  export PROMETHEUS_URL="http://127.0.0.1:$port"
  for _ in $(seq 150); do
    kill -0 "$server" 2>/dev/null || break
    # The log, not the port: a stranger on the port would answer too.
    if grep -q 'Server is ready to receive web requests' "$work/log"; then
      status=0
      "$@" || status=$?
      exit "$status"
    fi
    sleep 0.2
  done
  grep -q 'address already in use' "$work/log" || break
done
echo "with-prometheus: the server did not get ready" >&2
cat "$work/log" >&2
exit 69

# Sourced by the run.sh of each example: an empty store, a demo upstream and a gateway, which end with the script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[1]}")"

GATEWAY=${GATEWAY:-127.0.0.1:8090}
DEMO=${DEMO:-127.0.0.1:9101}
WORK=$(mktemp -d)
export GW_STORE="sqlite:$WORK/gw.db" GW_DEMO_URL="http://$DEMO"

stop() {
  local running
  running=$(jobs -p)
  # shellcheck disable=SC2086
  [ -z "$running" ] || { kill $running && wait; } 2> /dev/null || true
  rm -rf "$WORK"
}
trap stop EXIT

# Waits until a server answers: $1 its address and path, $2 its log.
wait_for() {
  for _ in $(seq 200); do
    curl --silent --output /dev/null "http://$1" && return
    sleep 0.1
  done
  cat "$2" >&2
  exit 1
}

start_demo_upstream() {
  gw demo-upstream --listen "$DEMO" > "$WORK/demo.log" 2>&1 &
  wait_for "$DEMO/" "$WORK/demo.log"
}

start_gateway() {
  gw serve --gateway-only --listen "$GATEWAY" > "$WORK/gateway.log" 2>&1 &
  wait_for "$GATEWAY/health" "$WORK/gateway.log"
}

# A chat: $1 the secret of a key, $2 the model. Prints the status and the body.
chat() {
  curl --silent --show-error --write-out '\nHTTP %{http_code}\n' "http://$GATEWAY/v1/chat/completions" \
    --header "authorization: Bearer $1" \
    --data '{"model":"'"$2"'","messages":[{"role":"user","content":"Hello!"}]}'
}

#!/usr/bin/env bash
# A tenant that pays in advance: without credit a call is a 402 and reaches no upstream.
source "$(dirname "$0")/../lib.sh"

start_demo_upstream
gw apply --yes
KEY=$(gw keys issue acme-app)
start_gateway

chat "$KEY" chat
gw wallet credit acme 5 --reference invoice-2026-001
# The gateway hears of a credit within a second.
for _ in $(seq 50); do
  chat "$KEY" chat | tee "$WORK/answer" | grep --quiet 'HTTP 200' && break
  sleep 0.1
done
cat "$WORK/answer"
gw wallet show acme
gw wallet entries acme

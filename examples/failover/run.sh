#!/usr/bin/env bash
# A first endpoint that is down: the second one serves, and the call log says why.
source "$(dirname "$0")/../lib.sh"

gw test
start_demo_upstream
gw apply --yes
KEY=$(gw keys issue my-app)
start_gateway

chat "$KEY" chat
# The call log is written behind the answer, within a second.
until gw logs | grep --quiet second; do sleep 0.1; done
gw logs
# A gateway writes the health of its endpoints to the store within a second.
until gw status 2> /dev/null | grep --quiet healthy; do sleep 0.1; done
gw status

#!/usr/bin/env bash
# The SDKs of OpenAI and Anthropic against one gateway. They are in node_modules of the checkout.
source "$(dirname "$0")/../lib.sh"

start_demo_upstream
gw apply --yes
KEY=$(gw keys issue my-app)
start_gateway
export KEY BASE_URL="http://$GATEWAY/v1"

node openai.mjs
node anthropic.mjs
gw usage --by model

#!/usr/bin/env bash
# The configuration of a LiteLLM proxy as one of gw. What it does not carry is listed with its line.
source "$(dirname "$0")/../lib.sh"

gw import litellm config.yaml -o "$WORK/imported"
cd "$WORK/imported"
gw validate
gw test || [ $? -eq 3 ] # an import brings no tests of its own
gw apply --yes --skip-probe
gw why --model gpt-4o-mini

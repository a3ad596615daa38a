#!/bin/sh
# Calls a method with a signature, with curl and openssl:
#
#   KEY_FILE=private.pem sh call.sh http://127.0.0.1:8000/rpc '{"jsonrpc":"2.0","method":"whoami","id":1}'
#
# The key is an Ed25519 key in a file. A secret for HMAC would stand in the arguments of openssl,
# where other users of the machine can read it.
set -eu

url=$1
body=$2
authority=${url#*://}
path=/${authority#*/}
authority=${authority%%/*}

digest="sha-256=:$(printf %s "$body" | openssl dgst -sha256 -binary | openssl base64 -A):"
params="(\"@method\" \"@authority\" \"@path\" \"content-type\" \"content-digest\")"
params="$params;created=$(date +%s);nonce=\"$(openssl rand -hex 16)\";keyid=\"shell\""

base=$(mktemp)
trap 'rm -f "$base"' EXIT
# No line feed at the end.
printf '"@method": POST\n"@authority": %s\n"@path": %s\n' "$authority" "$path" > "$base"
printf '"content-type": application/json\n"content-digest": %s\n' "$digest" >> "$base"
printf '"@signature-params": %s' "$params" >> "$base"
signature=$(openssl pkeyutl -sign -inkey "$KEY_FILE" -rawin -in "$base" | openssl base64 -A)

curl --silent --show-error "$url" \
  --header "content-type: application/json" \
  --header "content-digest: $digest" \
  --header "signature-input: sig=$params" \
  --header "signature: sig=:$signature:" \
  --data-binary "$body"

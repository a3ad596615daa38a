"""Calls a method with a signature, with nothing but the standard library.

    SIGNING_KEY=... python3 call.py http://127.0.0.1:8000/rpc whoami
    SIGNING_KEY=... python3 call.py --params http://127.0.0.1:8000/rpc transfer '{"amount": 100}'
"""

import base64
import hashlib
import hmac
import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

KEY_ID = "python"


def secret():
    text = os.environ["SIGNING_KEY"]
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def signature_over(text):
    return hmac.new(secret(), text.encode(), hashlib.sha256).digest()


def headers_for(url, body):
    """The headers of RFC 9421 that sign a request."""
    target = urllib.parse.urlsplit(url)
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    components = {
        "@method": "POST",
        "@authority": target.netloc.lower(),
        "@path": target.path or "/",
        "content-type": "application/json",
        "content-digest": f"sha-256=:{digest}:",
    }
    if target.query:
        components["@query"] = "?" + target.query
    names = " ".join(f'"{name}"' for name in components)
    created = int(time.time())
    params = f'({names});created={created};nonce="{secrets.token_hex(16)}";keyid="{KEY_ID}"'
    lines = [f'"{name}": {value}' for name, value in components.items()]
    base = "\n".join([*lines, f'"@signature-params": {params}'])
    return {
        "content-type": components["content-type"],
        "content-digest": components["content-digest"],
        "signature-input": f"sig={params}",
        "signature": f"sig=:{base64.b64encode(signature_over(base)).decode()}:",
    }


def signed_params(method, params):
    """The same within the params; members sorted and without spaces, as RFC 8785 has them."""
    params = {**params, "keyid": KEY_ID, "timestamp": int(time.time()), "nonce": secrets.token_hex(16)}
    text = json.dumps(
        {"method": method, "params": params},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    )
    return {**params, "signature": signature_over(text).hex()}


def call(url, method, params, in_params):
    if in_params:
        params = signed_params(method, params)
    request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
    body = json.dumps(request).encode()
    headers = {"content-type": "application/json"} if in_params else headers_for(url, body)
    sent = urllib.request.Request(url, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(sent) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


if __name__ == "__main__":
    args = sys.argv[1:]
    in_params = args[:1] == ["--params"]
    url, method, *rest = args[1:] if in_params else args
    print(call(url, method, json.loads(rest[0]) if rest else {}, in_params))

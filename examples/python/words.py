"""A JSON-RPC server on stdin and stdout, in plain Python: one message on each line."""

import json
import sys


def count(text):
    """How often each word occurs."""
    words = text.lower().split()
    return {word: words.count(word) for word in sorted(set(words))}


def longest(text):
    return max(text.split(), key=len, default="")


METHODS = {"words/count": count, "words/longest": longest}


def answer(request):
    """The reply to one request, or None for a notification."""
    if not isinstance(request, dict) or not isinstance(request.get("method"), str):
        return failure(None, -32600, "Invalid Request")
    method = METHODS.get(request["method"])
    params = request.get("params", [])
    try:
        if method is None:
            reply = failure(request.get("id"), -32601, "Method not found")
        else:
            result = method(**params) if isinstance(params, dict) else method(*params)
            reply = {"jsonrpc": "2.0", "id": request.get("id"), "result": result}
    except TypeError:
        reply = failure(request.get("id"), -32602, "Invalid params")
    return reply if "id" in request else None


def failure(id, code, message):
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


for line in sys.stdin:
    try:
        reply = answer(json.loads(line))
    except ValueError:
        reply = failure(None, -32700, "Parse error")
    if reply is not None:
        print(json.dumps(reply), flush=True)

/** Imports from Python's standard library. */
export const imports = `
from __future__ import annotations

import asyncio
import atexit
import base64
import collections
import contextlib
import hashlib
import http.client
import itertools
import json
import os
import select
import socket
import ssl
import threading
import urllib.parse
import urllib.request
from typing import TYPE_CHECKING, Any, AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Deque, Dict, Generator, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, TypedDict, TypeVar, Union`;

/** Errors, requests and results: what both clients share. It differs between documents in whether it has rich values. */
export function messages(rich: boolean): string {
  const types = (message: string): string => (rich ? `, ${message}.get("types")` : "");
  return `_OMITTED: Any = object()

# Bytes of one answer; a server cannot fill the memory of its callers.
_MAX_BYTES = 256 * 1024 * 1024

_T = TypeVar("_T")

Headers = Union[Mapping[str, str], Callable[[], Mapping[str, str]]]


class RpcError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class WireError(Exception):
    """There was no answer, or it was not valid JSON-RPC."""


def _named(params: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in params.items() if value is not _OMITTED}


def _positional(*params: Any) -> List[Any]:
    given = list(params)
    while given and given[-1] is _OMITTED:
        given.pop()
    return [None if value is _OMITTED else value for value in given]


def _request(method: str, params: Any, id: Optional[int] = None${rich ? ", form: Any = None" : ""}) -> Dict[str, Any]:
    request: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
${
  rich
    ? `    types: Dict[str, List[str]] = {}
    if params is not _OMITTED and params is not None:
        request["params"] = _encoded(params, form or {}, "", types)
    request["types"] = types
`
    : `    if params is not _OMITTED and params is not None:
        request["params"] = params
`
}    if id is not None:
        request["id"] = id
    return request


def _result(reply: Any, id: Any) -> Any:
    if not isinstance(reply, dict):
        raise WireError("the answer is not a JSON-RPC message")
    if isinstance(reply.get("error"), dict):
        raise _failure(reply["error"]${types("reply")})
    if "result" not in reply or reply.get("id") != id:
        raise WireError("the answer does not belong to the call")
    return ${rich ? '_decoded(reply["result"], reply.get("types"))' : 'reply["result"]'}


def _results(replies: Any, requests: Sequence[Dict[str, Any]]) -> List[Any]:
    if not isinstance(replies, list):
        _result(replies, None)
        raise WireError("the batch was not answered with an array")
    by_id = {
        reply["id"]: reply
        for reply in replies
        if isinstance(reply, dict) and isinstance(reply.get("id"), (int, float))
    }
    results: List[Any] = []
    for request in requests:
        if request["id"] not in by_id:
            raise WireError(f"{request['method']} was not answered")
        try:
            results.append(_result(by_id[request["id"]], request["id"]))
        except RpcError as error:
            results.append(error)
    return results


def _failure(error: Dict[str, Any]${rich ? ", types: Any = None" : ""}) -> RpcError:
    return RpcError(error.get("code", 0), error.get("message", ""), ${rich ? '_decoded(error.get("data"), types)' : 'error.get("data")'})


def _item(message: Any, id: int) -> Tuple[bool, Any]:
    """Whether a message of a stream has an item, and the item. Raises what ends the stream early."""
    if not isinstance(message, dict):
        raise WireError("an event is not a JSON-RPC message")
    if message.get("method") == "$/stream":
        params = message.get("params")
        if isinstance(params, dict) and params.get("id") == id:
            return True, ${rich ? '_decoded(params.get("value"), params.get("types"))' : 'params.get("value")'}
    elif "method" not in message:
        _result(message, id)
    return False, None


def _is_reply(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message


def _parsed(text: Union[str, bytes]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WireError("the answer is not JSON") from error


def _written(payload: Any) -> bytes:
    return json.dumps(payload, allow_nan=False, separators=(",", ":")).encode()


def _refusal(status: int, body: bytes) -> Exception:
    """The error in the body of an HTTP status that is not a success."""
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        reply = None
    if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
        return _failure(reply["error"]${types("reply")})
    return WireError(f"the server answered HTTP {status}")


class _Server:
    """Where the server is, and what is sent to it with every request."""

    def __init__(
        self,
        url: str,
        headers: Optional[Headers],
        timeout: float,
        ssl_context: Optional[ssl.SSLContext],
        traceparent: Optional[Callable[[], Optional[str]]],
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise ValueError(f"{url} is not an HTTP or WebSocket URL")
        self.url = url
        self.is_socket = parts.scheme in ("ws", "wss")
        is_secure = parts.scheme in ("https", "wss")
        self.host = parts.hostname
        self.port = parts.port or (443 if is_secure else 80)
        self.authority = parts.netloc.rpartition("@")[2]
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.tls = (ssl_context or ssl.create_default_context()) if is_secure else None
        self.timeout = timeout
        self._headers = headers or {}
        self._traceparent = traceparent

    def headers(self) -> Dict[str, str]:
        return dict(self._headers() if callable(self._headers) else self._headers)

    def trace(self) -> Optional[str]:
        return self._traceparent() if self._traceparent is not None else None

    def http_headers(self, accept: str, timeout: Optional[float]) -> Dict[str, str]:
        headers = {"content-type": "application/json", "accept": accept}
        if timeout is not None:
            headers["timeout-ms"] = str(int(timeout * 1000) or 1)
        trace = self.trace()
        if trace is not None:
            headers["traceparent"] = trace
        headers.update(self.headers())
        return headers

    def unreachable(self, error: BaseException) -> WireError:
        return WireError(f"{self.url} cannot be reached: {error}")


def _late(seconds: float) -> WireError:
    return WireError(f"there was no answer within {seconds:g} s")


class _Events:
    """The data of server-sent events, from the lines of a response."""

    def __init__(self) -> None:
        self._data: List[str] = []

    def line(self, raw: bytes) -> Optional[str]:
        """The data of the event that this line ends."""
        line = raw.decode().rstrip("\\r\\n")
        if line.startswith("data:"):
            self._data.append(line[6:] if line[5:6] == " " else line[5:])
        elif line == "" and self._data:
            data = "\\n".join(self._data)
            self._data = []
            return data
        return None`;
}

/** The two client classes. `url` is the declaration of their first argument. */
export function clients(url: string, rich: boolean): string {
  return [client(url, rich, false), client(url, rich, true)].join("\n\n\n");
}

function client(url: string, rich: boolean, isAsync: boolean): string {
  const [name, def, waits] = isAsync
    ? ["AsyncClient", "async def", "await "]
    : ["Client", "def", ""];
  const [a, iterator, api, wait] = isAsync
    ? ["a", "AsyncGenerator", "AsyncApi", "async for"]
    : ["", "Generator", "Api", "for"];
  const form = rich ? ", form: Any = None" : "";
  const given = rich ? ", form" : "";
  const wires = isAsync
    ? "_AsyncSocketWire(server) if server.is_socket else _AsyncHttpWire(server)"
    : "_BackgroundWire(server) if server.is_socket else _HttpWire(server)";
  const wireType = isAsync
    ? "Union[_AsyncSocketWire, _AsyncHttpWire]"
    : "Union[_BackgroundWire, _HttpWire]";
  return `class ${name}:
    """Calls the server over HTTP or WebSocket: \`${name}(url).api\` has its methods by name.

    headers: sent with every request, or a function that returns them, such as for a token that is renewed
    timeout: seconds to wait for an answer, or for the next item of a stream
    ssl_context: for certificates of your own
    traceparent: returns the trace context of the caller, which is sent along
    """

    def __init__(
        self,
        ${url},
        headers: Optional[Headers] = None,
        timeout: float = 60.0,
        *,
        ssl_context: Optional[ssl.SSLContext] = None,
        traceparent: Optional[Callable[[], Optional[str]]] = None,
    ) -> None:
        server = _Server(url, headers, timeout, ssl_context, traceparent)
        self._wire: ${wireType} = ${wires}
        self._timeout = timeout
        self._ids = itertools.count(1)
        self.api = ${api}(self)

    ${def} call(self, method: str, params: Any = _OMITTED${form}, *, timeout: Optional[float] = None) -> Any:
        """Calls a method by its full name, with params by name or by position."""
        request = _request(method, params, next(self._ids)${given})
        reply = ${waits}self._wire.exchange(request, self._seconds(timeout))
        return _result(reply, request["id"])

    ${def} notify(self, method: str, params: Any = _OMITTED, *, timeout: Optional[float] = None) -> None:
        """Sends a notification, which is not answered."""
        ${waits}self._wire.exchange(_request(method, params), self._seconds(timeout))

    ${def} batch(self, calls: Sequence[Tuple[str, Any]], *, timeout: Optional[float] = None) -> List[Any]:
        """Sends several calls as one batch; returns for each its result or its RpcError."""
        if not calls:
            return []
        requests = [_request(method, params, next(self._ids)) for method, params in calls]
        return _results(${waits}self._wire.exchange(requests, self._seconds(timeout)), requests)

    ${def} stream(
        self, method: str, params: Any = _OMITTED${form}, *, timeout: Optional[float] = None
    ) -> ${iterator}[Any, None${isAsync ? "" : ", None"}]:
        """Yields the items of a stream as they arrive; closing the iterator ends the stream."""
        request = _request(method, params, next(self._ids)${given})
        messages = self._wire.messages(request, self._seconds(timeout))
        try:
            ${wait} message in messages:
                is_item, item = _item(message, request["id"])
                if is_item:
                    yield item
                elif _is_reply(message):
                    return
        finally:
            ${isAsync ? "await messages.aclose()" : "messages.close()"}
        raise WireError("the stream ended early")

    ${def} ${a}close(self) -> None:
        """Closes the connections. Calls that wait for an answer fail."""
        ${waits}self._wire.close()

    ${def} __${a}enter__(self) -> ${name}:
        return self

    ${def} __${a}exit__(self, *_: object) -> None:
        ${waits}self.${a}close()

    def _seconds(self, timeout: Optional[float]) -> float:
        return self._timeout if timeout is None else timeout`;
}

/** Imports from Python's standard library. */
export const imports = `
from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, TypedDict, Union`;

/** The client class, which differs between documents in its default URL and whether it has rich values. */
export function runtime(url: string, rich: boolean): string {
  const form = rich ? ", form: Any = None" : "";
  const given = rich ? ", form" : "";
  const decoded = (value: string, message: string): string =>
    rich ? `_decoded(${value}, ${message}.get("types"))` : value;
  return `_OMITTED: Any = object()


def _named(params: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in params.items() if value is not _OMITTED}


def _positional(*params: Any) -> List[Any]:
    given = list(params)
    while given and given[-1] is _OMITTED:
        given.pop()
    return [None if value is _OMITTED else value for value in given]


class RpcError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class WireError(Exception):
    """There was no answer, or it was not valid JSON-RPC."""


class Client:
    """Calls the server over HTTP: \`Client(url).api\` has its methods by name."""

    def __init__(self, ${url}, headers: Optional[Mapping[str, str]] = None, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url} is not an HTTP URL")
        self._url = url
        self._headers = dict(headers or {})
        self._timeout = timeout
        self._ids = itertools.count(1)
        self.api = Api(self)

    def call(self, method: str, params: Any = _OMITTED${form}) -> Any:
        """Calls a method by its full name, with params by name or by position."""
        request = self._request(method, params, next(self._ids)${given})
        return _result(self._post(request), request["id"])

    def notify(self, method: str, params: Any = _OMITTED) -> None:
        """Sends a notification, which is not answered."""
        self._post(self._request(method, params))

    def batch(self, calls: Sequence[Tuple[str, Any]]) -> List[Any]:
        """Sends several calls as one batch; returns for each its result or its RpcError."""
        if not calls:
            return []
        requests = [self._request(method, params, next(self._ids)) for method, params in calls]
        replies = self._post(requests)
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

    def stream(self, method: str, params: Any = _OMITTED${form}) -> Iterator[Any]:
        """Yields the items of a stream as they arrive; closing the iterator ends the stream."""
        request = self._request(method, params, next(self._ids)${given})
        with _reading(), self._open(request, "text/event-stream, application/json") as response:
            if response.headers.get_content_type() != "text/event-stream":
                _result(_parsed(response.read()), request["id"])
                return
            for data in _events(response):
                message = _parsed(data)
                if not isinstance(message, dict):
                    raise WireError("an event is not a JSON-RPC message")
                if message.get("method") == "$/stream":
                    item = message.get("params")
                    if isinstance(item, dict) and item.get("id") == request["id"]:
                        yield ${decoded('item.get("value")', "item")}
                elif "method" not in message:
                    _result(message, request["id"])
                    return
        raise WireError("the stream ended early")

    def _request(self, method: str, params: Any, id: Optional[int] = None${form}) -> Dict[str, Any]:
        request: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not _OMITTED and params is not None:
            request["params"] = params
        if id is not None:
            request["id"] = id
${
  rich
    ? `        types: Dict[str, List[str]] = {}
        if "params" in request:
            request["params"] = _encoded(params, form or {}, "", types)
        request["types"] = types
`
    : ""
}        return request

    def _post(self, payload: Any) -> Any:
        with _reading(), self._open(payload, "application/json") as response:
            body = response.read()
        return _parsed(body) if body else None

    def _open(self, payload: Any, accept: str) -> Any:
        body = json.dumps(payload, allow_nan=False).encode()
        headers = {"content-type": "application/json", "accept": accept, **self._headers}
        request = urllib.request.Request(self._url, body, headers, method="POST")
        try:
            return _opener.open(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            text = error.read()
            try:
                reply = json.loads(text)
            except (ValueError, RecursionError):
                reply = None
            if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
                raise _failure(reply["error"]${rich ? ', reply.get("types")' : ""}) from None
            raise WireError(f"the server answered HTTP {error.code}") from error
        except (OSError, http.client.HTTPException) as error:
            raise WireError(f"{self._url} cannot be reached: {error}") from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would send the headers and so a token to another server."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (OSError, http.client.HTTPException, UnicodeError) as error:
        raise WireError(f"the answer is incomplete: {error}") from error


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WireError("the answer is not JSON") from error


def _result(reply: Any, id: Any) -> Any:
    if not isinstance(reply, dict):
        raise WireError("the answer is not a JSON-RPC message")
    if isinstance(reply.get("error"), dict):
        raise _failure(reply["error"]${rich ? ', reply.get("types")' : ""})
    if "result" not in reply or reply.get("id") != id:
        raise WireError("the answer does not belong to the call")
    return ${decoded('reply["result"]', "reply")}


def _failure(error: Dict[str, Any]${rich ? ", types: Any = None" : ""}) -> RpcError:
    return RpcError(error.get("code", 0), error.get("message", ""), ${rich ? '_decoded(error.get("data"), types)' : 'error.get("data")'})


def _events(response: Any) -> Iterator[str]:
    data: List[str] = []
    for raw in response:
        line = raw.decode().rstrip("\\r\\n")
        if line == "":
            if data:
                yield "\\n".join(data)
            data = []
        elif line.startswith("data:"):
            data.append(line[6:] if line[5:6] == " " else line[5:])`;
}

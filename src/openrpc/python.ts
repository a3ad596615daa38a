import { Identifiers, linesOf } from "./identifiers.ts";
import { type MethodTree, methodTree } from "./method-tree.ts";
import { docstring, keywords, PythonTypes, pythonName } from "./python-types.ts";
import { readDocument } from "./reading.ts";
import { pascal } from "./shared-schemas.ts";
import type { OpenrpcMethod } from "./specification.ts";

/** Writes a client in Python that needs nothing but Python's own library (3.8 or later). */
export function pythonClient(document: unknown): string {
  const read = readDocument(document);
  const types = new PythonTypes(read.components?.schemas ?? {});
  const groups: string[] = [];
  groupClass("Api", methodTree(read.methods), types, groups);
  const { title, version } = read.info;
  const url = read.servers
    ?.map((server) => server.url)
    .find((one) => /^https?:\/\/[^\s{}$]+$/.test(one));
  const about = `Made by "callwire generate" from the OpenRPC document of ${linesOf(`${title} ${version}`).join(" ").trim()}; edits are lost.`;
  return [
    `${docstring([about], "").trimEnd()}\n${imports}`,
    ...types.declarations(),
    runtime(url === undefined ? "url: str" : `url: str = ${JSON.stringify(url)}`),
    ...groups,
  ]
    .join("\n\n\n")
    .concat("\n");
}

function groupClass(name: string, tree: MethodTree, types: PythonTypes, groups: string[]): void {
  const attributes = new Identifiers(keywords, pythonName);
  const fields: string[] = [];
  const methods: string[] = [];
  for (const [key, entry] of tree) {
    const attribute = attributes.claim(key);
    if (entry instanceof Map) {
      const inner = types.claim(`${name === "Api" ? "" : name}${pascal(key)}Api`);
      fields.push(`        self.${attribute} = ${inner}(client)\n`);
      groupClass(inner, entry, types, groups);
    } else methods.push(methodCode(attribute, entry, types));
  }
  const head = `class ${name}:\n    def __init__(self, client: Client) -> None:\n        self._client = client\n${fields.join("")}`;
  groups.push([head, ...methods].join("\n").trimEnd());
}

function methodCode(attribute: string, method: OpenrpcMethod, types: PythonTypes): string {
  const place = pascal(method.name) || "Method";
  const stream = method["x-stream"];
  const returned =
    stream === undefined
      ? types.hint(method.result?.schema ?? true, `${place}Result`)
      : `Iterator[${types.hint(stream.item, `${place}Item`)}]`;
  const { signature, params } = paramsCode(method, place, types);
  const about = docstring(
    [
      method.summary,
      method.description,
      method.deprecated ? "Deprecated." : undefined,
      ...errorLines(method),
    ],
    "        ",
  );
  const verb = stream === undefined ? "call" : "stream";
  const call = `self._client.${verb}(${JSON.stringify(method.name)}, ${params})`;
  // By way of a name with a type, which is how type checkers are told what came.
  const body =
    stream !== undefined || returned === "Any"
      ? `        return ${call}\n`
      : `        _reply: ${returned} = ${call}\n        return _reply\n`;
  return `    def ${attribute}(${["self", ...signature].join(", ")}) -> ${returned}:\n${about}${body}`;
}

function errorLines(method: OpenrpcMethod): string[] {
  const named = (method["x-errors"] ?? []).map(
    ({ name, code }) => `Raises RpcError ${code} (${name}).`,
  );
  if (named.length > 0) return named;
  return (method.errors ?? []).map(({ code, message }) => `Raises RpcError ${code} (${message}).`);
}

function paramsCode(
  method: OpenrpcMethod,
  place: string,
  types: PythonTypes,
): { readonly signature: readonly string[]; readonly params: string } {
  const whole = method["x-params"];
  const isByPosition = method.paramStructure === "by-position";
  if (whole !== undefined && !isByPosition) {
    const hint = types.hint(whole, `${place}Params`);
    return { signature: [`params: ${hint} = _OMITTED`], params: "params" };
  }
  const names = new Identifiers(keywords, pythonName);
  const list = method.params.map(({ name, required, schema }) => ({
    name,
    argument: names.claim(name),
    hint: types.hint(schema, place + pascal(name)),
    required: required === true,
  }));
  const firstOptional = list.findIndex(({ required }) => !required);
  const signature = list.flatMap(({ argument, hint, required }, i) => {
    const code = required ? `${argument}: ${hint}` : `${argument}: ${hint} = _OMITTED`;
    // An argument that is needed may stand behind one that is not only if it is given by name.
    const isFirstBehind =
      required &&
      firstOptional >= 0 &&
      i > firstOptional &&
      !list.slice(firstOptional, i).some((one) => one.required);
    return isFirstBehind && !isByPosition ? ["*", code] : [code];
  });
  if (!isByPosition) {
    const members = list.map(({ name, argument }) => `${JSON.stringify(name)}: ${argument}`);
    return {
      signature,
      params: members.length === 0 ? "_OMITTED" : `_named({${members.join(", ")}})`,
    };
  }
  const lastRequired = list.findLastIndex(({ required }) => required);
  const positional = list.map(({ argument, hint }, i) =>
    i <= lastRequired ? `${argument}: ${hint}` : `${argument}: ${hint} = _OMITTED`,
  );
  const more = whole === undefined ? [] : [`*${names.claim("more")}`];
  return {
    signature: [...positional, ...more.map((name) => `${name}: Any`)],
    params: `_positional(${[...list.map(({ argument }) => argument), ...more].join(", ")})`,
  };
}

const imports = `
from __future__ import annotations

import itertools
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Tuple, TypedDict, Union`;

function runtime(url: string): string {
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
    """No answer came, or none that JSON-RPC knows."""


class Client:
    """Calls the server over HTTP: \`Client(url).api\` has its methods by name."""

    def __init__(self, ${url}, headers: Optional[Mapping[str, str]] = None, timeout: float = 60.0) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url} is no address of HTTP")
        self._url = url
        self._headers = dict(headers or {})
        self._timeout = timeout
        self._ids = itertools.count(1)
        self.api = Api(self)

    def call(self, method: str, params: Any = _OMITTED) -> Any:
        """Calls a method by its full name, with params by name or by position."""
        request = self._request(method, params, next(self._ids))
        return _result(self._post(request), request["id"])

    def notify(self, method: str, params: Any = _OMITTED) -> None:
        """Tells the server something; nothing is answered."""
        self._post(self._request(method, params))

    def batch(self, calls: Sequence[Tuple[str, Any]]) -> List[Any]:
        """Sends several calls as one message; each place has the result, or the RpcError of that call."""
        if not calls:
            return []
        requests = [self._request(method, params, next(self._ids)) for method, params in calls]
        replies = self._post(requests)
        if not isinstance(replies, list):
            _result(replies, None)
            raise WireError("a batch was answered with something else")
        by_id = {reply.get("id"): reply for reply in replies if isinstance(reply, dict)}
        results: List[Any] = []
        for request in requests:
            if request["id"] not in by_id:
                raise WireError(f"{request['method']} was not answered")
            try:
                results.append(_result(by_id[request["id"]], request["id"]))
            except RpcError as error:
                results.append(error)
        return results

    def stream(self, method: str, params: Any = _OMITTED) -> Iterator[Any]:
        """Yields the items of a stream as they come; closing the iterator ends it."""
        request = self._request(method, params, next(self._ids))
        with self._open(request, "text/event-stream, application/json") as response:
            if response.headers.get_content_type() != "text/event-stream":
                _result(_parsed(response.read()), request["id"])
                return
            for data in _events(response):
                message = _parsed(data)
                if not isinstance(message, dict):
                    raise WireError("an event is no message")
                if message.get("method") == "$/stream":
                    if message["params"].get("id") == request["id"]:
                        yield message["params"].get("value")
                elif "method" not in message:
                    _result(message, request["id"])
                    return
        raise WireError("the stream was cut off")

    def _request(self, method: str, params: Any, id: Optional[int] = None) -> Dict[str, Any]:
        request: Dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not _OMITTED and params is not None:
            request["params"] = params
        if id is not None:
            request["id"] = id
        return request

    def _post(self, payload: Any) -> Any:
        with self._open(payload, "application/json") as response:
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
            except ValueError:
                reply = None
            if isinstance(reply, dict) and isinstance(reply.get("error"), dict):
                raise _failure(reply["error"]) from None
            raise WireError(f"the server answered HTTP {error.code}") from error
        except OSError as error:
            raise WireError(f"{self._url} cannot be reached: {error}") from error


class _Staying(urllib.request.HTTPRedirectHandler):
    """Following would send the headers, and so a token, to whoever the answer names."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_opener = urllib.request.build_opener(_Staying)


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise WireError("the answer is no JSON") from error


def _result(reply: Any, id: Any) -> Any:
    if not isinstance(reply, dict):
        raise WireError("the answer is no JSON-RPC message")
    if isinstance(reply.get("error"), dict):
        raise _failure(reply["error"])
    if "result" not in reply or reply.get("id") != id:
        raise WireError("the answer belongs to no call")
    return reply["result"]


def _failure(error: Dict[str, Any]) -> RpcError:
    return RpcError(error.get("code", 0), error.get("message", ""), error.get("data"))


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

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server } from "node:net";
import { createServer, method } from "callwire";
import { openrpcDocument, pythonClient } from "callwire/openrpc";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { methods as demo } from "../../examples/demo/methods.ts";
import { ownPort } from "../own-port.ts";
import { programInDocs, servedClient, workplace } from "./clients.ts";
import { hostile } from "./hostile.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;
const isRequired = process.env["CI"] === "true";

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** A traceback is shown unchanged. */
function parsed(output: string): unknown {
  return output.startsWith("[") ? JSON.parse(output) : output;
}

describe.skipIf(!hasPython && !isRequired)(
  `Python (${hasPython ? "found" : "SKIPPED: there is no python3 here"})`,
  () => {
    test("neither a call nor its token follows a redirect", async () => {
      const heard: unknown[] = [];
      const elsewhere = createHttpServer((request, response) => {
        heard.push(request.headers.authorization);
        response.end('{"jsonrpc":"2.0","id":1,"result":"from elsewhere"}');
      });
      const pointing = createHttpServer((request, response) => {
        const location = `http://127.0.0.1:${portOf(elsewhere)}/`;
        response.writeHead(Number(request.url?.slice(1)), { location }).end();
      });
      for (const each of [elsewhere, pointing])
        await once(each.listen(0, "127.0.0.1"), "listening");
      await using place = await workplace();
      // A type may have the name of something that the client itself uses.
      const result = z.object({ a: z.string() }).meta({ id: "ValueError" });
      const read = method({ result }, () => ({ a: "" }));
      await place.write("client.py", pythonClient(openrpcDocument({ read })));
      await place.write(
        "main.py",
        `
import json
from client import Client, WireError

out = []
for status in (301, 302, 303, 307, 308):
    client = Client(f"http://127.0.0.1:${portOf(pointing)}/{status}", {"Authorization": "Bearer secret"})
    try:
        out.append(client.api.read())
    except WireError as error:
        out.append(str(error))
print(json.dumps(out))
`,
      );
      const statuses = [301, 302, 303, 307, 308];
      expect(parsed(await place.python("main.py"))).toEqual(
        statuses.map((status) => `the server answered HTTP ${status}`),
      );
      expect(heard).toEqual([]);
      for (const each of [elsewhere, pointing]) each.close();
    });

    test("the client of the demo calls, notifies, sends a batch, streams, and raises errors", async () => {
      const { place, origin } = await servedClient(demo, "client.py", pythonClient);
      await place.write(
        "main.py",
        `
import json
from client import Client, RpcError, WireError

client = Client("${origin}/rpc")
api = client.api
out = [api.math.add(2, 3), api.math.add(a=2, b=3), api.subtract(42, 23), api.echo(None)]
out.append(list(api.math.add_stream(1, 2)))
stream = api.math.add_stream(500000, 500000)
out.append([next(stream), next(stream)])
stream.close()
out.append(client.notify("add", [1, 2]))
results = client.batch([("math/add", {"a": 1, "b": 2}), ("nothing", None), ("echo", ["hi"])])
out.append([results[0], results[1].code, results[2]])
out.append(client.batch([]))
try:
    api.math.sqrt(-4)
except RpcError as error:
    out.append([error.code, error.message, error.data])
try:
    list(api.math.add_stream(-1, 2))
except RpcError as error:
    out.append(error.code)
try:
    Client("http://127.0.0.1:${await ownPort()}/rpc").call("add")
except WireError as error:
    out.append("unreachable")
try:
    Client("${origin}/nowhere").call("add")
except (RpcError, WireError) as error:
    out.append(type(error).__name__)
try:
    Client("file:///etc/passwd")
except ValueError:
    out.append("no file")
print(json.dumps(out))
`,
      );
      expect(parsed(await place.python("-W", "error", "main.py"))).toEqual([
        5,
        5,
        19,
        null,
        [0, 1, 2, 3],
        [0, 1],
        null,
        [3, -32601, "hi"],
        [],
        [-32000, "Negative input", { x: -4 }],
        -32602,
        "unreachable",
        "RpcError",
        "no file",
      ]);
    });

    test("the client works as docs/openrpc.md shows", async () => {
      const { place, origin } = await servedClient(
        { ...demo, notify_log: () => null },
        "client.py",
        pythonClient,
      );
      await place.write("main.py", await programInDocs("python", origin));
      expect(await place.python("main.py")).toBe("5\n5\n0\n1\n2\n3\n[3, 'hi']\n-32000 {'x': -4}\n");
    });

    test("arguments go by position or by name as the method wants, and types are there to import", async () => {
      const User = z
        .object({ name: z.string(), "e-mail": z.string().optional() })
        .meta({ id: "User" });
      const Point = z.object({ x: z.number(), y: z.number().optional() }).meta({ id: "Point" });
      const methods = {
        tuple: method(
          { params: z.tuple([z.object({ deep: z.boolean() }), z.number().optional()]) },
          (params) => params,
        ),
        plain: (...args: unknown[]) => args,
        open: method({ params: z.looseObject({ a: z.number() }) }, (params) => params),
        class: method(
          { params: z.object({ from: User, "odd-name": Point.nullable().optional() }) },
          (params) => params,
        ),
        late: method(
          { params: z.object({ a: z.number().optional(), b: z.number() }) },
          (params) => params,
        ),
      };
      const { place } = await servedClient(methods, "client.py", pythonClient);
      await place.write(
        "main.py",
        `
import json, typing
from client import Client, Point, User
import client as module

api = Client().api
user: User = {"name": "Ada", "e-mail": "a@b.c"}
point: Point = {"x": 1}
hints = sorted(typing.get_type_hints(module.Point))
print(json.dumps([
    api.tuple_({"deep": True}), api.tuple_({"deep": True}, 2), api.plain(1, "b"), api.plain(),
    api.open({"a": 1, "b": 2}), api.class_(user), api.class_(from_=user, odd_name=point), api.late(b=1),
    hints,
]))
`,
      );
      expect(parsed(await place.python("-W", "error", "main.py"))).toEqual([
        [{ deep: true }],
        [{ deep: true }, 2],
        [1, "b"],
        [],
        { a: 1, b: 2 },
        { from: { name: "Ada", "e-mail": "a@b.c" } },
        { from: { name: "Ada", "e-mail": "a@b.c" }, "odd-name": { x: 1 } },
        { b: 1 },
        ["x", "y"],
      ]);
    });

    test("no type has the name of a method or argument, which hints would mean instead", async () => {
      await using place = await workplace();
      const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
      const named = ["User", "List", "Client", "ключ", "日本", "x_2"];
      const client = pythonClient({
        openrpc: "1.3.2",
        methods: named.flatMap((name) =>
          [name, `group/${name}`, `group/find${name}`].map((method) => ({
            name: method,
            params: named.map((param) => ({ name: param, required: true, schema: ref(param) })),
            result: { name: "all", schema: { type: "array", items: ref(name) } },
          })),
        ),
        components: {
          schemas: Object.fromEntries(named.map((name) => [name, { type: "string" }])),
        },
      });
      await place.write("client.py", client);
      await place.write(
        "main.py",
        `
import ast, json

def names(node):
    return {found.id for found in ast.walk(node) if isinstance(found, ast.Name)}

wrong = []
for group in [one for one in ast.parse(open("client.py", encoding="utf-8").read()).body if isinstance(one, ast.ClassDef)]:
    methods = [one for one in group.body if isinstance(one, ast.FunctionDef)]
    around = {one.name for one in methods}
    for one in methods:
        arguments = one.args.args
        hints = [argument.annotation for argument in arguments if argument.annotation] + [one.returns]
        wrong += [[group.name, one.name, hint] for part in hints for hint in names(part) & around]
        inside = {argument.arg for argument in arguments}
        for line in [line for line in ast.walk(one) if isinstance(line, ast.AnnAssign)]:
            wrong += [[group.name, one.name, hint] for hint in names(line.annotation) & inside]
print(json.dumps(wrong))
`,
      );
      expect(parsed(await place.python("main.py"))).toEqual([]);
    });

    test("an answer that is truncated or broken is a WireError", async () => {
      const plain = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
      const events = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
      const answers = [
        `${plain}content-length: 100\r\n\r\n{`,
        `${plain}transfer-encoding: chunked\r\n\r\n5\r\nab`,
        "no HTTP\r\n\r\n",
        `${plain}\r\n${"[".repeat(100_000)}`,
        "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 9\r\n\r\n{",
        `${plain}\r\n[{"id":[],"result":1}]`,
        `${events}data: {"method":"$/stream"}\n\n`,
        `${events}data: {"method":"$/stream","params":[]}\n\n`,
        Buffer.concat([Buffer.from(`${events}data: `), Buffer.from([0xff, 10, 10])]),
      ];
      let asked = 0;
      const broken = createSocketServer((socket) => {
        // A caller that has what it needs may leave before everything is sent.
        socket.on("error", () => {});
        socket.once("data", () => socket.end(answers[Math.floor(asked++ / 3)] ?? ""));
      });
      await once(broken.listen(0, "127.0.0.1"), "listening");
      await using place = await workplace();
      await place.write("client.py", pythonClient(openrpcDocument({})));
      await place.write(
        "main.py",
        `
import json
from client import Client, WireError

client = Client("http://127.0.0.1:${portOf(broken)}/")
out = []
for _ in range(${answers.length}):
    for use in (lambda: client.call("a"), lambda: client.batch([("a", None)]), lambda: list(client.stream("a"))):
        try:
            out.append(use())
        except WireError:
            out.append("WireError")
print(json.dumps(out))
`,
      );
      const output = parsed(await place.python("-W", "error", "main.py"));
      expect(output).toEqual(answers.flatMap(() => Array(3).fill("WireError")));
      broken.close();
    });

    test("a server may write the ids of a batch with a point, as its numbers are", async () => {
      const pointed = createHttpServer((_, response) => {
        response.end('[{"id":2.0,"result":"b"},{"id":1.0,"result":"a"}]');
      });
      await once(pointed.listen(0, "127.0.0.1"), "listening");
      await using place = await workplace();
      await place.write("client.py", pythonClient(openrpcDocument({})));
      await place.write(
        "main.py",
        `
import json
from client import Client

client = Client("http://127.0.0.1:${portOf(pointed)}/")
print(json.dumps(client.batch([("a", None), ("b", None)])))
`,
      );
      expect(parsed(await place.python("main.py"))).toEqual(["a", "b"]);
      pointed.close();
    });

    test("a hostile document gives a client that loads and does no harm", async () => {
      await using place = await workplace();
      await place.write("client.py", pythonClient(hostile));
      await place.write(
        "main.py",
        `import client\nprint("loaded", client.Client("http://localhost").api is not None)`,
      );
      expect(await place.python("-W", "error", "main.py")).toBe("loaded True\n");
    });
  },
);

test("the client is the same each time", () => {
  const [first, second] = [1, 2].map(() =>
    pythonClient(openrpcDocument(createServer(demo).methods)),
  );
  expect(first).toBe(second);
});

/** Errors for users who write JavaScript, or one cast too many. */
import { type } from "arktype";
import {
  createClient,
  createServer,
  directLink,
  method,
  type Schema,
  stream,
  topic,
} from "callwire";
import { serveHttp } from "callwire/http/node";
import { lspServer } from "callwire/lsp";
import { mcpGateway, mcpServer } from "callwire/mcp";
import { mcpClient, mcpMemoryLink } from "callwire/mcp/client";
import { authenticate, authorize, type Policy, secureDefaults } from "callwire/security";
import { serveSocket } from "callwire/tcp";
import { wsHandler, wsUpgrade } from "callwire/ws";
import { expect, test } from "vitest";
import { z } from "zod";

/** As zod made schemas before it supported Standard Schema. */
const oldSchema = { parse: (value: unknown) => value, _def: {} } as unknown as Schema;
const host = { name: "host", version: "1.0.0" };
const wrong = <T>(value: unknown): T => value as T;

test.each([
  ["params", method({ params: oldSchema }, () => 1)],
  ["result", method({ result: oldSchema }, () => 1)],
  ["item", stream({ item: oldSchema }, () => [])],
  ["the data of ODD", method({ errors: { ODD: { code: 1, data: oldSchema } } }, () => 1)],
  ["params", method({ params: wrong<Schema>(null) }, () => 1)],
  ["params", method({ params: wrong<Schema>("string") }, () => 1)],
])(
  "a schema that is none of Standard Schema is refused by the name of its method: %s",
  (what, add) => {
    expect(() => createServer({ math: { add } })).toThrow(
      `"math/add": ${what} must be a Standard Schema, with a "~standard" member`,
    );
  },
);

test.each([
  [{ role: ["operator"] }, 'has an unknown member "role"; known are roles, scopes, local'],
  [{ roles: "operator" }, "needs arrays for roles and scopes, and a boolean for local"],
  [{ scopes: "data:read" }, "needs arrays for roles and scopes, and a boolean for local"],
  [{ local: "yes" }, "needs arrays for roles and scopes, and a boolean for local"],
  [true, "must be an object"],
  [null, "must be an object"],
])("the access rule %j, which would admit everyone or nobody, is refused", (rule, fault) => {
  const wipe = method({ access: wrong<object>(rule) }, () => 1);
  expect(() => createServer({ wipe })).toThrow(new TypeError(`"wipe": access ${fault}`));
  if (typeof rule !== "object" || rule === null) return;
  const policy = { allow: [{ ...rule, methods: "wipe" }] };
  expect(() => authorize(wrong<Policy>(policy))).toThrow(
    `a rule of a policy ${fault.replace("known are", "known are methods, principals,")}`,
  );
});

test.each([
  ["string", z.string()],
  ["number", z.number()],
  ["integer", z.int()],
  ["boolean", type("boolean")],
] as const)("params of type %s are refused, as nobody could send them", (name, params) => {
  expect(() => createServer({ add: method({ params }, () => 1) })).toThrow(
    new TypeError(`"add": params must be an object or an array, not of type ${name}`),
  );
});

test.each([
  [method(wrong<object>({ parms: z.object({}) }), () => 1), 'has an unknown member "parms"'],
  [method(wrong<object>({ item: z.number() }), () => 1), 'has an unknown member "item"'],
  [stream(wrong<object>({ result: z.number() }), () => []), 'has an unknown member "result"'],
  [
    method({ limits: wrong<object>({ maxFile: 1 }) }, () => 1),
    ': limits has an unknown member "maxFile"; known are maxMessageBytes, maxFiles, maxFileBytes',
  ],
  [
    method({ errors: { ODD: wrong<{ code: 1 }>({ code: 1, dada: z.number() }) } }, () => 1),
    ': the error ODD has an unknown member "dada"; known are code, message, data',
  ],
])("a misspelt member of a definition is refused by the name of its method (%#)", (add, fault) => {
  expect(() => createServer({ math: { add } })).toThrow(
    new RegExp(`^"math/add"(?: (?=has))?${fault}`),
  );
});

test("a misspelt option of a server is refused with the known ones", () => {
  expect(() => createServer({}, wrong<object>({ tmeoutMs: 1 }))).toThrow(
    /^createServer: options has an unknown member "tmeoutMs"; known are use, .*timeoutMs/,
  );
});

test.each([{ values: "ritch" }, { values: "rich", version: "1.0" }])(
  "calls of a client with %j fail with the values that there are",
  async (options) => {
    const client = createClient(directLink(createServer({ now: () => 1 })), wrong<object>(options));
    await expect(client.call("now")).rejects.toThrow(
      new TypeError('values: "json", or "rich" in JSON-RPC 2.0'),
    );
  },
);

test.each([undefined, {}, { name: "host" }])(
  "MCP clients, servers and gateways with the options %j say what is missing",
  (options) => {
    const message = "options need `name` and `version`";
    const none = wrong<never>(options);
    expect(() => mcpClient(mcpMemoryLink(mcpServer({}, host)), none)).toThrow(message);
    expect(() => mcpServer({}, none)).toThrow(message);
    expect(() => mcpGateway({}, none)).toThrow(message);
  },
);

test("a method that LSP does not have is refused, and custom ones are not", () => {
  const hover = () => null;
  const handlers = wrong<object>({ "textDocument/hoverr": hover });
  expect(() => lspServer(handlers)).toThrow(
    '"textDocument/hoverr" is not a method of LSP; handlers of other methods belong in the option `methods`',
  );
  lspServer({ "textDocument/hover": hover }, { methods: { "textDocument/hoverr": hover } });
});

test("a code that is not an integer is refused by the name of its method", () => {
  const pay = method({ errors: { ODD: { code: 1.5 } } }, () => 1);
  expect(() => createServer({ pay })).toThrow('"pay": the error ODD needs an integer code');
});

test("a class is refused by its name, as it cannot be called", () => {
  class Account {}
  const handler = wrong<() => number>(Account);
  for (const entry of [handler, method({}, handler), class {}, class extends Account {}]) {
    expect(() => createServer({ group: { Account: wrong<() => number>(entry) } })).toThrow(
      new TypeError('"group/Account" is a class, which cannot be called; give a function'),
    );
  }
  // A name that only begins like that, and an instance with its own method.
  const classify = () => "a";
  expect(createServer({ classify, class: () => "b" }).methodNames()).toContain("classify");
});

test("an instance of a class and a promise, which have no own methods, are refused", () => {
  class Account {
    balance() {
      return 1;
    }
  }
  for (const methods of [new Account(), Promise.resolve({}), new Map()]) {
    expect(() => createServer(wrong<object>(methods) as never)).toThrow(
      new TypeError(
        "the object given to createServer has no own methods; pass a plain object of functions",
      ),
    );
    const nested = { bank: { account: wrong<object>(methods) as never } };
    expect(() => createServer(nested, { separator: "::" })).toThrow(
      '"bank::account" has no own methods',
    );
  }
  const empty = createServer({ group: {}, bare: Object.create(null) });
  expect(empty.methodNames()).toEqual(["rpc.discover"]);
});

test.each([[["3.0"]], [["2.0", "3.0"]], [[]], ["2.0"], [[2]], [null]])(
  "versions of %j are refused",
  (versions) => {
    expect(() => createServer({}, { versions: wrong<["2.0"]>(versions) })).toThrow(
      new TypeError(
        `versions must be an array of "1.0" and "2.0", not ${JSON.stringify(versions)}`,
      ),
    );
  },
);

test("a method without a definition is refused by its name", () => {
  const add = method(wrong<object>(undefined), () => 1);
  expect(() => createServer({ add })).toThrow('"add" has no definition');
});

test.each([undefined, null, "methods", () => 1])(
  "createServer(%s) says what it takes",
  (methods) => {
    expect(() => createServer(wrong<object>(methods) as never)).toThrow(
      "createServer needs methods: an object of functions and groups",
    );
  },
);

test.each([undefined, { add: () => 1 }, { receive: () => 1 }])(
  "serveHttp(%o) says that it takes a server",
  async (service) => {
    await expect(serveHttp(wrong<never>(service))).rejects.toThrow(
      "serveHttp needs a server: serveHttp(createServer(methods))",
    );
  },
);

test.each([undefined, null, "http://127.0.0.1:8000/rpc", {}])(
  "createClient(%o) says that it takes a link",
  (link) => {
    for (const batch of [false, true]) {
      expect(() => createClient(wrong<never>(link), { batch })).toThrow(
        "createClient needs a link, such as httpLink(url)",
      );
    }
  },
);

test.each([undefined, {}])("secureDefaults(%o) says that it needs credentials", (options) => {
  expect(() => secureDefaults(wrong<never>(options))).toThrow(
    "secureDefaults needs credentials: { credentials: bearer(verify) }",
  );
});

test.each([undefined, [undefined], "secret"])(
  "authenticate(%o) says that it needs credentials",
  (credentials) => {
    const sentence = "authenticate needs credentials, such as bearer(verify)";
    expect(() => authenticate(wrong<never>(credentials))).toThrow(sentence);
    if (credentials !== undefined) {
      expect(() => secureDefaults(wrong<never>({ credentials }))).toThrow(sentence);
    }
  },
);

test.each([Number.NaN, 0, -1, "10", null])(
  "a limit of %o is refused by its name",
  async (limit) => {
    const server = createServer({});
    const most = wrong<number>(limit);
    const told = (name: string): TypeError =>
      new TypeError(`${name} must be a number of at least 1, not ${limit}`);
    expect(() => createServer({}, { maxRunning: most })).toThrow(told("maxRunning"));
    for (const name of ["maxRunningBytes", "maxWireBytes"]) {
      expect(() => createServer({}, { [name]: most })).toThrow(told(name));
    }
    expect(() => topic({ maxQueue: most })).toThrow(told("maxQueue"));
    const connections = told("maxConnections");
    expect(() => wsUpgrade(server, { maxConnections: most })).toThrow(connections);
    expect(() => wsHandler(server, { maxConnections: most })).toThrow(connections);
    // Where 0 means no limit for writing, as in Node.
    for (const name of limit === 0 ? ["maxConnections"] : ["maxConnections", "writeTimeoutMs"]) {
      const options = { port: 0, [name]: most };
      await expect(serveHttp(server, options)).rejects.toThrow(told(name));
      await expect(serveSocket(server, options)).rejects.toThrow(told(name));
    }
  },
);

test.each([[undefined], (next: unknown) => next, null, "log"])(
  "middleware of %o is refused",
  (use) => {
    expect(() => createServer({}, { use: wrong<[]>(use) })).toThrow(
      "`use` must be an array of middleware: (next) => handle",
    );
  },
);

test("hosts and origins that are not arrays are refused before anything listens", async () => {
  const server = createServer({});
  await expect(serveHttp(server, { port: 0, hosts: wrong<[]>("api.example") })).rejects.toThrow(
    'hosts must be "any" or an array of names, not "api.example"',
  );
  await expect(serveHttp(server, { port: 0, origins: wrong<[]>("https://a") })).rejects.toThrow(
    'origins must be an array or a function, not "https://a"',
  );
});

test("two services at one path are refused, since the first could not be reached", async () => {
  const server = createServer({});
  for (const place of ["/rpc", "/rpc/stream"]) {
    for (const other of [createServer({}), () => {}]) {
      await expect(serveHttp(server, { port: 0, mounts: { [place]: other } })).rejects.toThrow(
        `"${place}" is used twice in path and mounts`,
      );
    }
  }
});

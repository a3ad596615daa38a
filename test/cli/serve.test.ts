import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "../entries.ts";
import { build, finish, inSlowTime, start } from "./process.ts";

let folder: string;

const javascript = `
  import { method } from "callwire";
  export const methods = {
    hello: (name = "world") => "Hello, " + name,
    math: { add: method({ summary: "Add" }, ([a, b]) => a + b) },
  };
`;
const typescript = `
  import { method, RpcError } from "callwire";
  import { greeting } from "./greeting.ts";
  interface Person { readonly name: string }
  export const methods = {
    hello: (name: string = "world"): string => greeting + name,
    math: { add: method({ summary: "Add" }, (params) => {
      const [a, b] = params as [number, number];
      return a + b;
    }) },
    fail: (): Person => { throw new RpcError(1001, "No such person"); },
  };
`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-serve-"));
  await build();
  const files = {
    "package.json": `{ "type": "module" }`,
    "methods.js": javascript,
    "methods.mjs": javascript,
    "methods.ts": typescript,
    "methods.mts": typescript,
    "greeting.ts": `export const greeting: string = "Hello, ";`,
    "default.js": `export default { hello: () => "by default" };`,
    "server.js": `
      import { createServer } from "callwire";
      export default createServer({ a: { hello: () => "from a server" } }, { separator: "." });
    `,
    "loud.js": `
      console.log("loading");
      export const methods = { shout: () => { console.log("running"); return "done"; } };
    `,
    // Each look at its clock takes longer than running calls may.
    "stuck.js": `
      import { method } from "callwire";
      const stuck = () => {
        let now = performance.now();
        performance.now = () => (now += 20_000);
        return new Promise(() => setInterval(() => {}, 1_000));
      };
      export const methods = { stuck: method({ timeoutMs: Infinity }, stuck) };
    `,
    "functions.js": "export const methods = { subtract: (a, b) => a - b };",
    "functions.ts": "export const methods = { subtract: (a: number, b: number): number => a - b };",
    "lasting.js": `
      import { existsSync } from "node:fs";
      export const methods = {
        async *forever() {
          for (let i = 0; ; i++) {
            yield i;
            await new Promise((resolve) => setTimeout(resolve, 20));
          }
        },
        async *stuck() {
          yield 0;
          await new Promise(() => {});
        },
        held: (file) => new Promise((resolve) => {
          console.log("held");
          const looking = setInterval(() => existsSync(file) && resolve("done"), 10);
        }),
      };
    `,
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  // As users have it after installing the package.
  await mkdir(join(folder, "node_modules"));
  await symlink(root, join(folder, "node_modules", "callwire"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

async function call(url: string, request: object): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
  });
  return response.json();
}

function serve(module: string, ...args: string[]) {
  return start(["serve", module, "--port", "0", ...args], { cwd: folder });
}

test.each(["methods.js", "methods.mjs", "methods.ts", "methods.mts", "./methods.ts"])(
  "serves what %s exports as methods",
  async (module) => {
    await using server = serve(module);
    const [url] = await server.shown(/http:\S+\/rpc/);
    const hello = await call(url, { jsonrpc: "2.0", method: "hello", params: ["you"], id: 1 });
    expect(hello).toEqual({ jsonrpc: "2.0", result: "Hello, you", id: 1 });
    const sum = await call(url, { jsonrpc: "2.0", method: "math/add", params: [2, 3], id: 2 });
    expect(sum).toEqual({ jsonrpc: "2.0", result: 5, id: 2 });
  },
);

test("serves the exported functions of a module without methods and without a default export", async () => {
  const functions = `
    import { method } from "callwire";
    export function subtract(a, b) { return a - b; }
    export const hello = (name = "world") => "Hello, " + name;
    export async function* count(to) { for (let i = 0; i < to; i++) yield i; }
    export const add = method({ summary: "Add" }, ([a, b]) => a + b);
    export class Person {}
    export const limit = 5;
  `;
  await writeFile(join(folder, "named.mjs"), functions);
  await writeFile(
    join(folder, "named.ts"),
    functions.replace("(a, b) {", "(a: number, b: number): number {"),
  );
  for (const module of ["named.mjs", "named.ts"]) {
    await using server = serve(module);
    const [url] = await server.shown(/http:\S+\/rpc/);
    const named = { jsonrpc: "2.0", method: "subtract", params: { b: 3, a: 5 }, id: 1 };
    expect(await call(url, named)).toMatchObject({ result: 2 });
    const { methods } = JSON.parse((await finish(["discover", url])).stdout);
    const names = methods.map(({ name }: { name: string }) => name).sort();
    expect(names).toEqual(["add", "count", "hello", "subtract"]);
  }
  // An export named `methods` takes precedence over single functions.
  await writeFile(join(folder, "both.mjs"), `${functions} export const methods = { add };`);
  await using server = serve("both.mjs");
  const [url] = await server.shown(/http:\S+\/rpc/);
  const hello = { jsonrpc: "2.0", method: "hello", id: 1 };
  expect(await call(url, hello)).toMatchObject({ error: { code: -32601 } });
});

test("the doc comment above a plain function is its description", async () => {
  const source = `
    const files = "src/**";
    /**
     * Adds two numbers.
     *
     * And nothing
     * else.
     * @param {number} a - The first,
     *   in order.
     * @param {number} [b=1] The second.
     * @returns {number}
     */
    export function add(a, b = 1) { return a + b; }
    /** Halves. */
    export const half = (x) => x / 2;
    // Not this.
    export const plain = () => 1;
    /** One of two, */
    export const twice = () => 1;
    export const nested = () => {
      /** so that nobody knows. */
      const twice = 1;
      return twice;
    };
  `;
  await writeFile(join(folder, "documented.mjs"), source);
  await writeFile(
    join(folder, "documented.ts"),
    `export const methods = {
      /**
       * Adds two numbers.
       *
       * And nothing else.
       * @param a The first, in order.
       * @param b - The second.
       */
      add(a: number, b: number = 1): number { return a + b; },
      math: {
        /** Halves. */
        half: (x: number): number => x / 2,
      },
    };`,
  );
  for (const [module, half] of [
    ["documented.mjs", "half"],
    ["documented.ts", "math/half"],
  ] as const) {
    await using server = serve(module);
    const [url] = await server.shown(/http:\S+\/rpc/);
    const { methods } = JSON.parse((await finish(["discover", url])).stdout);
    const byName = Object.fromEntries(methods.map((each: { name: string }) => [each.name, each]));
    expect(byName.add).toMatchObject({
      summary: "Adds two numbers.",
      description: "And nothing else.",
      params: [
        { name: "a", schema: { description: "The first, in order." } },
        { name: "b", schema: { description: "The second." } },
      ],
    });
    expect(byName[half]).toMatchObject({ summary: "Halves." });
    for (const name of ["plain", "twice", "nested"]) {
      expect(byName[name] ?? {}).not.toHaveProperty("summary");
    }
  }
});

test("a server goes before the methods that it is made of, with its guards", async () => {
  const module = join(folder, "guarded.ts");
  await writeFile(
    module,
    `import { createServer, failure } from "callwire";
     export const methods = { secret: () => "told" };
     const guard = () => () => failure({ code: 1001, message: "Guarded" });
     export default createServer(methods, { use: [guard] });`,
  );
  await using server = serve(module);
  const [url] = await server.shown(/http:\S+\/rpc/);
  expect(await call(url, { jsonrpc: "2.0", method: "secret", id: 1 })).toMatchObject({
    error: { message: "Guarded" },
  });
});

test("an error of a TypeScript module keeps its code, as there is one copy of the package", async () => {
  await using server = serve("methods.ts");
  const [url] = await server.shown(/http:\S+\/rpc/);
  expect(await call(url, { jsonrpc: "2.0", method: "fail", id: 1 })).toEqual({
    jsonrpc: "2.0",
    error: { code: 1001, message: "No such person" },
    id: 1,
  });
});

test("a TypeScript module works where the package is not installed", async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), "callwire-alone-"));
  try {
    await writeFile(
      join(elsewhere, "alone.ts"),
      typescript.replace("./greeting.ts", join(folder, "greeting.ts")),
    );
    await using server = start(["serve", join(elsewhere, "alone.ts"), "--port", "0"]);
    const [url] = await server.shown(/http:\S+\/rpc/);
    expect(await call(url, { jsonrpc: "2.0", method: "fail", id: 1 })).toMatchObject({
      error: { code: 1001 },
    });
  } finally {
    await rm(elsewhere, { recursive: true, force: true });
  }
});

test("the curl line calls a method of the module", async () => {
  await using server = serve("default.js");
  const [, url = "", body = ""] = await server.shown(/curl (\S+) .* -d '(.*)'/);
  expect(await call(url, JSON.parse(body))).toEqual({
    jsonrpc: "2.0",
    result: "by default",
    id: 1,
  });
});

test("serves an exported server unchanged", async () => {
  await using server = serve("server.js");
  const [url] = await server.shown(/http:\S+\/rpc/);
  expect(await call(url, { jsonrpc: "2.0", method: "a.hello", id: 1 })).toMatchObject({
    result: "from a server",
  });
});

test("--path moves the methods", async () => {
  await using server = serve("methods.js", "--path", "/api/v1");
  const [url] = await server.shown(/http:\S+\/api\/v1/);
  const request = { jsonrpc: "2.0", method: "hello", id: 1 };
  expect(await call(url, request)).toMatchObject({ result: "Hello, world" });
  const elsewhere = await fetch(url.replace("/api/v1", "/rpc"), { method: "POST", body: "{}" });
  expect(elsewhere.status).toBe(404);
});

test("--path leaves the place of the agents to them", async () => {
  const { code, stderr } = await finish([
    "serve",
    "methods.js",
    "--port",
    "0",
    "--mcp",
    "--path",
    "/mcp",
  ]);
  expect(stderr).toBe("callwire: --path /mcp is reserved for --mcp; choose another path\n");
  expect(code).toBe(2);
});

test("--legacy understands 1.0 as well", async () => {
  await using server = serve("methods.js", "--legacy");
  const [url] = await server.shown(/http:\S+\/rpc/);
  expect(await call(url, { method: "hello", params: [], id: 1 })).toEqual({
    result: "Hello, world",
    error: null,
    id: 1,
  });
  const request = { jsonrpc: "2.0", method: "hello", id: 1 };
  expect(await call(url, request)).toMatchObject({ jsonrpc: "2.0", result: "Hello, world" });
});

test("without --legacy 1.0 is refused", async () => {
  await using server = serve("methods.js");
  const [url] = await server.shown(/http:\S+\/rpc/);
  expect(await call(url, { method: "hello", params: [], id: 1 })).toMatchObject({
    error: { code: -32600 },
  });
});

test("--metrics counts calls, and without it there is no page", async () => {
  await using server = serve("methods.js", "--metrics");
  const [origin] = await server.shown(/http:\/\/127\.0\.0\.1:\d+/);
  await fetch(`${origin}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"jsonrpc":"2.0","method":"hello","id":1}',
  });
  const page = await (await fetch(`${origin}/metrics`)).text();
  expect(page).toContain('callwire_calls_total{method="hello",transport="http"} 1\n');
  await using plain = serve("methods.js");
  const [other] = await plain.shown(/http:\/\/127\.0\.0\.1:\d+/);
  expect((await fetch(`${other}/metrics`)).status).toBe(404);
  const { code, stderr } = await finish(["serve", "server.js", "--metrics"], { cwd: folder });
  expect(stderr).toMatch(/^callwire: --metrics needs methods; .*\n$/);
  expect(code).toBe(2);
});

test("--legacy cannot change a server", async () => {
  const { code, stderr } = await finish(["serve", "server.js", "--legacy"], { cwd: folder });
  expect(stderr).toMatch(/^callwire: --legacy needs methods; .*\n$/);
  expect(code).toBe(2);
});

test("with --stdio a module that prints cannot break the wire", async () => {
  await using server = start(["serve", "loud.js", "--stdio"], { cwd: folder });
  server.child.stdin?.end(`{"jsonrpc":"2.0","method":"shout","id":1}\n`);
  const { code, stdout, stderr } = await server.exited;
  expect(stdout).toBe(`{"jsonrpc":"2.0","result":"done","id":1}\n`);
  expect(stderr).toContain("loading");
  expect(stderr).toContain("running");
  expect(code).toBe(0);
});

test.each([
  ["--stdio", { method: "stuck" }],
  ["--mcp", { method: "tools/call", params: { name: "stuck" } }],
])(
  "with %s a call that ignores its signal does not outlast the end of the input",
  async (flag, call) => {
    await using server = start(["serve", "stuck.js", flag], { ...inSlowTime, cwd: folder });
    server.child.stdin?.end(`${JSON.stringify({ jsonrpc: "2.0", ...call, id: 1 })}\n`);
    const { code, stdout } = await server.exited;
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: -32006, data: { ran: true } },
      id: 1,
    });
    expect(code).toBe(0);
  },
);

test.each(["functions.js", "functions.ts"])(
  "a plain function of %s is called in order and by name, and tells its names",
  async (module) => {
    await using serving = start(["serve", join(folder, module), "--port", "0"]);
    const [url] = await serving.shown(/http:\/\/\S+\/rpc/);
    for (const params of [["5", "3"], ["b=3", "a=5"], ['{"a":5,"b":3}']]) {
      const { stdout } = await finish(["call", url, "subtract", ...params]);
      expect(stdout).toBe("2\n");
    }
    const { stdout: document } = await finish(["discover", url]);
    const [{ params }] = JSON.parse(document).methods;
    expect(params).toMatchObject([{ name: "a" }, { name: "b" }]);
  },
);

describe("stopping with a stream open", () => {
  /** A stream whose first item has arrived. */
  async function opened(origin: string, method: string): Promise<{ rest: Promise<string> }> {
    const response = await fetch(`${origin}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ jsonrpc: "2.0", method, id: 1 }),
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    const rest = async (): Promise<string> => {
      const decoder = new TextDecoder();
      let text = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return text;
        text += decoder.decode(value, { stream: true });
      }
    };
    return { rest: rest() };
  }

  test.each(["forever", "stuck"])(
    "%s is ended soon, and its reader gets the reason",
    async (method) => {
      await using serving = start(["serve", join(folder, "lasting.js"), "--port", "0"]);
      const [origin] = await serving.shown(/http:\/\/127\.0\.0\.1:\d+/);
      const { rest } = await opened(origin, method);
      serving.child.kill("SIGINT");
      await serving.shown(/^Stopping; ending 1 stream in 1 s\. Press Ctrl-C again to stop now\.$/m);
      expect(await rest).toContain("the server ended the call before it was done");
      expect((await serving.exited).code).toBe(0);
    },
  );

  test("a call that runs at the same time still gets its time", async () => {
    await using serving = start(["serve", join(folder, "lasting.js"), "--port", "0"]);
    const [origin] = await serving.shown(/http:\/\/127\.0\.0\.1:\d+/);
    const released = join(folder, "released");
    const params = [released];
    const held = call(`${origin}/rpc`, { jsonrpc: "2.0", method: "held", params, id: 2 });
    await serving.shown(/^held$/m);
    const { rest } = await opened(origin, "forever");
    serving.child.kill("SIGINT");
    await serving.shown(
      /waiting up to 10 s for 1 call, ending 1 stream in 1 s\. Press Ctrl-C again/,
    );
    expect(await rest).toContain("the server ended the call before it was done");
    // Only now may the call end.
    await writeFile(released, "");
    expect(await held).toMatchObject({ result: "done" });
    expect((await serving.exited).code).toBe(0);
  });
});

describe("stopping with a call open", () => {
  /** A server and its call, which runs until the file exists. */
  async function held(name: string) {
    const serving = start(["serve", join(folder, "lasting.js"), "--port", "0"]);
    const [url] = await serving.shown(/http:\/\/127\.0\.0\.1:\d+\/rpc/);
    const file = join(folder, name);
    const reply = call(url, { jsonrpc: "2.0", method: "held", params: [file], id: 1 });
    await serving.shown(/^held$/m);
    return Object.assign(serving, { reply, release: () => writeFile(file, "") });
  }

  test.each(["SIGINT", "SIGTERM"] as const)("%s waits until it has finished", async (signal) => {
    await using serving = await held(signal);
    serving.child.kill(signal);
    await serving.shown(
      /^Stopping; waiting up to 10 s for 1 call\. Press Ctrl-C again to stop now\.$/m,
    );
    await serving.release();
    expect(await serving.reply).toMatchObject({ result: "done" });
    expect(await serving.exited).toMatchObject({ code: 0 });
  });

  test("a second Ctrl-C stops without waiting", async () => {
    await using serving = await held("never");
    const lost = expect(serving.reply).rejects.toThrow();
    serving.child.kill("SIGINT");
    await serving.shown(/^Stopping/m);
    // npm passes on Ctrl-C, so one key press can arrive twice; a person is slower than that.
    const again = setInterval(() => serving.child.kill("SIGINT"), 50);
    const { code } = await serving.exited;
    clearInterval(again);
    expect(code).toBe(130);
    await lost;
  });
});

describe("a server whose guards refuse the process that starts it", () => {
  const guarded = (...credentials: string[]): string => `
    import { createServer } from "callwire";
    import { authenticate, bearer, trustedProcess } from "callwire/security";
    const use = [authenticate([${credentials.join(", ")}])];
    export default createServer({ add: (a: number, b: number) => a + b }, { use });
  `;
  const nobody = "bearer(() => undefined)";

  test.each(["--mcp", "--stdio"])(
    "is refused with %s, and the option that allows it is named",
    async (flag) => {
      await writeFile(join(folder, "closed.ts"), guarded(nobody));
      const { code, stdout, stderr } = await finish(["serve", "closed.ts", flag], { cwd: folder });
      expect(stderr).toMatch(
        /^callwire: closed\.ts rejects the process that starts it: .*no credential.*\n$/,
      );
      expect(stderr).toContain("trustedProcess()");
      expect([code, stdout]).toEqual([1, ""]);
    },
  );

  test("serves them with that", async () => {
    await writeFile(join(folder, "trusting.ts"), guarded(nobody, "trustedProcess()"));
    await using server = start(["serve", "trusting.ts", "--stdio"], { cwd: folder });
    server.child.stdin?.end(`{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}\n`);
    expect(await server.exited).toMatchObject({
      code: 0,
      stdout: `{"jsonrpc":"2.0","result":5,"id":1}\n`,
    });
  });
});

test.each(["--tcp", "--unix", "--path", "--playground", "--framing"])(
  "--mcp alone has one wire, and %s is not passed over",
  async (flag) => {
    const value = { "--tcp": "0", "--unix": "x.sock", "--path": "/a", "--framing": "newline" }[
      flag
    ];
    const args = ["serve", "default.js", "--mcp", flag, ...(value === undefined ? [] : [value])];
    const { code, stderr } = await finish(args, { cwd: folder });
    expect(stderr).toBe(
      `callwire: ${flag} has no effect on stdio, the only wire of --mcp; add --port, or remove it\n`,
    );
    expect(code).toBe(2);
  },
);

describe("a module that cannot be served", () => {
  const failing = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder, name), text);
    const { code, stdout, stderr } = await finish(["serve", name, "--port", "0"], { cwd: folder });
    expect([code, stdout]).toEqual([2, ""]);
    return stderr;
  };

  test.each(["mjs", "ts"])("shows the line on which loading it failed: %s", async (end) => {
    const text = "const config = {};\n\nexport const port = config.server.port;\n";
    const said = "could not be loaded: Cannot read properties of undefined (reading 'port')";
    const first = `fault.${end}`;
    expect(await failing(first, text)).toBe(`callwire: ${first} ${said} at ${first}:3\n`);
    const second = `outer.${end}`;
    expect(await failing(second, `\nimport "./${first}";`)).toBe(
      `callwire: ${second} ${said} at ${first}:3\n`,
    );
  });

  test.each(["mjs", "ts"])("reports that it never finishes loading: %s", async (end) => {
    expect(await failing(`idle.${end}`, "await new Promise(() => {});")).toBe(
      `callwire: idle.${end} could not be loaded: it awaits a promise that never settles\n`,
    );
  });

  test.each([
    ["named.mjs", "export default function sum(a, b) { return a + b; }", "sum"],
    ["nameless.mjs", "export default (a, b) => a + b;", "add"],
    ["nameless.ts", "export default (a: number, b: number) => a + b;", "add"],
  ])("says how to export the function that is its default: %s", async (name, text, called) => {
    expect(await failing(name, text)).toBe(
      `callwire: the default export of ${name} is a function, which needs a name; write: export function ${called}(…) { … }\n`,
    );
  });
});

test.each([
  ["serve", "--playground"],
  ["serve", "--metrics"],
  ["serve", "--path", "/api"],
  ["gateway", "--origins", "https://app.example"],
  ["demo", "--hosts", "any"],
])("%s with --stdio alone refuses %s, which is for HTTP", async (verb, flag, ...value) => {
  await writeFile(join(folder, "piped.mjs"), "export const one = () => 1;");
  const what = { serve: ["piped.mjs"], gateway: ["--to", "http://127.0.0.1:1"], demo: [] }[verb];
  const args = [verb, ...(what ?? []), "--stdio", flag, ...value];
  expect(await finish(args, { cwd: folder })).toEqual({
    code: 2,
    stdout: "",
    stderr: `callwire: ${flag} needs HTTP; with --stdio, add --port\n`,
  });
});

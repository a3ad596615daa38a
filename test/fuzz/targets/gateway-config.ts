import { Failure } from "../../../src/cli/failure.ts";
import { ConfigReader, readJson } from "../../../src/cli/gateway/config.ts";
import { Gateway } from "../../../src/gateway/gateway.ts";
import { silentLog } from "../../../src/protocol/log.ts";
import { jsonText, mutated } from "../json.ts";
import type { Random } from "../random.ts";
import { broken, fuzzTarget } from "../target.ts";

/** Config files of the gateway, whose authors make mistakes. */
export const gatewayConfig = fuzzTarget<{ text: string }>({
  holds:
    "a config is refused in one line that names its place in the file, or a gateway is made of it; what JSON.parse refuses is refused",
  briefly: 1_000,
  reaches: ["taken", "refused"],
  generate: (random) => ({ text: mutated(random, configText(random), 6) }),
  async check({ text }) {
    try {
      const loaded = new ConfigReader().assemble(await readJson("gateway.json", text));
      JSON.parse(text);
      await new Gateway({ ...loaded.options, log: silentLog }).close();
      return "taken";
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const line = Number(/^gateway\.json:(\d+): [^\n]/.exec(error.message)?.[1]);
      const isPlaced = line >= 1 && line <= text.split("\n").length;
      if (!isPlaced || error.message.includes("\n")) broken("it names no line", error.message);
      return "refused";
    }
  },
});

const urls = [
  ...Array<string>(20).fill("http://127.0.0.1:1/rpc"),
  ...["https://a.example", "ws://[::1]:2", "wss://a/b?c=d", "tcp://a:1", "tls://a:2"],
  ...["unix:/run/a.sock", "unix:", "stdio:node a.js 'b c'", "stdio:", "stdio:'", "nats://a:4222/b"],
  ...["nats://u:p@a,b:1/c.d", "nats://", "http:", "http://", "ftp://a", "a", "//a", "http://a b"],
  ...["tcp://a", "tcp://:1", "tcp://a:99999", "HTTP://A", "http://user:pass@a/", "ws://a#b"],
  ...[" http://a", "http://%zz", "nats://a b/c", "nats://[/x", "tls://[", "unix://a"],
];
const settings: Readonly<Record<string, readonly unknown[]>> = {
  title: ["t"],
  versions: [["1.0"], ["2.0", "1.0"], []],
  timeoutMs: [1, 0, -1, 1e300],
  limits: [{}, { maxBatch: 1 }, { maxBatch: 1e20 }, { nothing: 1 }],
  rateLimit: ["100/s", "x", "1/h"],
  jwt: [{ jwks: "http://a", issuer: "i", audience: "a" }, {}],
  log: ["json", "xml"],
  tls: [{ cert: "a.pem", key: "b.pem" }],
  metrics: [true],
};

function configText(random: Random): string {
  const names = ["a", "a", "a", "b", "b", "__proto__", "constructor", ""];
  const upstreams = random.some(4, () => [random.pick(names), upstream(random)]);
  const config: Record<string, unknown> = {
    upstreams: Object.fromEntries(upstreams),
    routes: random.some(3, () => route(random)),
  };
  for (const name of random.some(2, () => random.pick(Object.keys(settings)))) {
    config[name] = random.oneIn(5) ? odd(random) : random.pick(settings[name] as unknown[]);
  }
  if (random.oneIn(12)) config[random.pick(["upstream", "toString", "$schema"])] = odd(random);
  if (random.oneIn(12)) delete config[random.pick(["upstreams", "routes"])];
  return JSON.stringify(config, undefined, random.oneIn(2) ? 2 : 0);
}

function odd(random: Random): unknown {
  // zod compares the member "length" of objects too, and throws if that is an object without "toString".
  return JSON.parse(jsonText(random, 2).replaceAll('"length"', '"size"'));
}

const entrySettings: Readonly<Record<string, readonly unknown[]>> = {
  durable: [
    { url: "nats://a/b", key: "params.a" },
    { url: "http://a" },
    { url: "nats://", key: "a" },
  ],
  headers: [
    { "x-a": "v" },
    { "A B": "v" },
    { "content-length": "1" },
    { "x-a": "$HOME" },
    { "x-a": "$NOT_SET_ANYWHERE" },
    { "x-a": "a\nb" },
    { "\u0000": "" },
  ],
  balance: [
    "round-robin",
    "x",
    { by: "params.a" },
    { by: "header." },
    { by: "principal.x" },
    { by: "" },
  ],
  forwardHeaders: [["x-a"], ["host"], [""], "x"],
  healthCheck: [false, {}, { everyMs: 0 }, { method: "ping" }],
  per: ["connection", "x"],
  framing: ["newline", "length-prefix", 1],
  version: ["1.0", "3.0"],
  maxConnections: [1, 0.5],
  circuitBreaker: [{ failures: 1 }, {}, { failures: 0 }],
};

function upstream(random: Random): unknown {
  if (random.oneIn(12)) return odd(random);
  const entry: Record<string, unknown> = random.oneIn(4)
    ? { urls: random.some(3, () => random.pick(urls)) }
    : { url: random.pick(urls) };
  for (const name of random.some(2, () => random.pick(Object.keys(entrySettings)))) {
    entry[name] = random.pick(entrySettings[name] as unknown[]);
  }
  return entry;
}

function route(random: Random): unknown {
  if (random.oneIn(12)) return odd(random);
  const entry: Record<string, unknown> = {
    method: random.pick(["a/*", "a", "*", "a*b", "**", "rpc.discover", "$/x", ""]),
    to: random.pick(["a", "a", "a", "b", "__proto__", "constructor"]),
  };
  if (random.oneIn(4)) entry["rename"] = random.pick(["b/*", "b", "*", "rpc.*"]);
  if (random.oneIn(6)) entry["attempts"] = random.pick([1, 0, 2.5]);
  return entry;
}

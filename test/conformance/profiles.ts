/** The servers that the transcripts talk to. The transcripts say what each one is for. */
import {
  byteStream,
  createServer,
  type Log,
  type Methods,
  method,
  RpcError,
  type Server,
  type ServerOptions,
  silentLog,
  stream,
} from "callwire";
import { z } from "zod";

const specification = {
  subtract: method(
    { params: z.object({ minuend: z.number(), subtrahend: z.number() }), result: z.number() },
    ({ minuend, subtrahend }) => minuend - subtrahend,
  ),
  sum: (...numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0),
  update: () => "a notification has no use for this",
  notify_hello: () => "nor for this",
  notify_sum: () => "nor for this",
  get_data: () => ["hello", 5],
} satisfies Methods;

const cycle: unknown[] = [];
cycle.push({ cycle });

function nested(levels: number): unknown {
  let value: unknown = null;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
}

const results = {
  bigint: () => 1n,
  cycle: () => cycle,
  deep: () => nested(100_000),
  nothing: () => undefined,
  function: () => () => 1,
  not_a_number: () => Number.NaN,
  date: () => new Date(0),
  to_json_throws: () => ({
    toJSON() {
      throw new Error("secret");
    },
  }),
  promised_bigint: async () => 1n,
} satisfies Methods;

const failures = {
  fail: () => {
    throw new Error("secret");
  },
  fail_later: async () => {
    throw new Error("secret");
  },
  throw_string: () => {
    throw "secret";
  },
  throw_nothing: () => {
    throw undefined;
  },
  refuse: (data: unknown) => {
    throw new RpcError(-32001, "Refused", data, { cause: new Error("secret") });
  },
  refuse_plainly: () => {
    throw new RpcError(1001, 'No "data"');
  },
  refuse_with_bigint: () => {
    throw new RpcError(1002, "Data that JSON cannot hold", 1n);
  },
  withdraw: method(
    {
      params: z.object({ amount: z.number() }),
      errors: { NOT_ENOUGH: { code: 1003, data: z.object({ balance: z.number() }) } },
    },
    (_, __, errors) => {
      throw errors.NOT_ENOUGH({ balance: 5 });
    },
  ),
  wrong_result: method({ result: z.number() }, () => "secret" as unknown as number),
} satisfies Methods;

const names = {
  math: { add: (a: number, b: number) => a + b },
  größe: () => "a name beyond ASCII",
  "flat/name": () => "a flat name",
} satisfies Methods;

/** The description of a file, and its content. */
const weigh = async ({ file }: { file: Blob }) => ({
  size: file.size,
  type: file.type,
  name: file instanceof File ? file.name : null,
  text: await file.text(),
});
const file = z.object({ file: z.instanceof(Blob) });

const files = {
  weigh: method({ params: file }, weigh),
  weigh_few: method(
    { params: file, limits: { maxMessageBytes: 200, maxFiles: 1, maxFileBytes: 4 } },
    weigh,
  ),
  drink: method({ params: z.object({ bytes: z.instanceof(ReadableStream) }) }, ({ bytes }) =>
    new Response(bytes).text(),
  ),
  sip: method({ params: z.object({ bytes: z.instanceof(ReadableStream) }) }, async ({ bytes }) => {
    for await (const part of bytes as ReadableStream<Uint8Array>) return part.length;
    return 0;
  }),
  letter: () => new File(["hi"], "hi.txt", { type: "text/plain", lastModified: 0 }),
  pour: method({ params: z.object({ length: z.number() }), result: byteStream() }, ({ length }) =>
    new Blob([new Uint8Array(length).fill(7)]).stream(),
  ),
} satisfies Methods;

const streams = {
  count_to: stream({ params: z.object({ to: z.number() }) }, async function* ({ to }) {
    for (let n = 1; n <= to; n++) yield n;
  }),
  days: stream({}, function* () {
    yield new Date(0);
  }),
  breaks: stream({}, async function* () {
    yield 1;
    throw new RpcError(1005, "Broken off");
  }),
  report: method({}, async (_, call) => {
    call.progress(new Date(0));
    return "done";
  }),
  sum_up: method({ upload: z.number() }, async (_, call) => {
    let sum = 0;
    for await (const n of call.upload) sum += n;
    return sum;
  }),
  first: method({ upload: z.unknown() }, async (_, call) => {
    for await (const item of call.upload) return item instanceof Blob ? await item.text() : item;
    return "none";
  }),
  shout: stream({ upload: z.string() }, async function* (_, call) {
    for await (const word of call.upload) yield word.toUpperCase();
  }),
} satisfies Methods;

const conformance = {
  ...specification,
  ...results,
  ...failures,
  ...names,
  ...files,
  ...streams,
  echo: (value: unknown) => value,
  echo_later: async (value: unknown) => value,
  secret: method({ compress: false }, () => "s".repeat(2000)),
  count: (...params: unknown[]) => params.length,
  greet: method(
    {
      params: z.object({
        name: z.string(),
        greeting: z.string().default("Hello"),
        title: z.string().optional(),
      }),
    },
    ({ name, greeting, title }) => `${greeting} ${title === undefined ? "" : `${title} `}${name}`,
  ),
  pair: method({ params: z.tuple([z.string(), z.number()]) }, ([name, age]) => ({ name, age })),
} satisfies Methods;

/** The methods of the documents that the project began with; the demo serves them too. */
const seeds = {
  ...specification,
  echo: method({ params: z.object({ message: z.unknown() }) }, ({ message }) => message),
  add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
  get_server_time: () => "Thu Jan  1 00:00:00 1970",
  trigger_error: method({ params: z.object({ message: z.string().optional() }) }, (params) => {
    throw new Error(params.message);
  }),
  notify_log: method(
    { params: z.object({ message: z.string(), source: z.string().nullish() }) },
    () => null,
  ),
  math: {
    add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
    subtract: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a - b),
    multiply: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a * b),
  },
  paritosh: {
    echo: method(
      { params: z.object({ message: z.string() }) },
      ({ message }) => `[Paritosh] ${message}`,
    ),
  },
  ai: {
    generate: method({ params: z.object({ prompt: z.string() }) }, ({ prompt }) => {
      if (prompt.length <= 4000) return "Generated text...";
      throw new RpcError(-32602, "Invalid params", { details: "Prompt too long" });
    }),
  },
} satisfies Methods;

interface Profile {
  readonly methods: Methods;
  readonly options: ServerOptions;
}

const profiles = {
  /** The behaviour of a server without options. */
  default: { methods: conformance, options: {} },
  /** Speaks both versions, each message in its own. */
  "both-versions": { methods: conformance, options: { versions: ["1.0", "2.0"] } },
  "version-1": { methods: conformance, options: { versions: ["1.0"] } },
  "null-params": { methods: conformance, options: { nullParams: "omit" } },
  "dotted-names": { methods: conformance, options: { separator: "." } },
  /** Every limit is small enough to be reached by one line. */
  limited: {
    methods: conformance,
    options: {
      versions: ["1.0", "2.0"],
      limits: {
        maxMessageBytes: 500,
        maxReplyLength: 200,
        maxBatch: 3,
        maxDepth: 4,
        maxIdLength: 8,
        maxRichValues: 2,
      },
    },
  },
  /** One method takes longer messages than the others. */
  "own-limits": {
    methods: {
      ...conformance,
      measure: method(
        { params: z.tuple([z.string()]), limits: { maxMessageBytes: 5000 } },
        ([text]) => text.length,
      ),
    },
    options: { limits: { maxMessageBytes: 500 } },
  },
  seeds: { methods: seeds, options: { versions: ["1.0", "2.0"] } },
} satisfies Record<string, Profile>;

export type ProfileName = keyof typeof profiles;

export const profileNames: readonly ProfileName[] = Object.keys(profiles) as ProfileName[];

/** A new server of this profile; failures of its handlers are expected, so they are not logged. */
export function serverOf(name: ProfileName, log: Log = silentLog): Server {
  const { methods, options }: Profile = profiles[name];
  return createServer(methods, { ...options, log });
}

/** The options of a server of this profile, for a gateway or wire in front of it. */
export function optionsOf(name: ProfileName): ServerOptions {
  const { options }: Profile = profiles[name];
  return options;
}

import {
  type ErrorObject,
  type Link,
  type Outgoing,
  printable,
  type Reply,
  type Request,
  WireError,
} from "callwire";
import { explainedFailure } from "../call-failure.ts";
import { command } from "../command.ts";
import { Failure } from "../failure.ts";
import { linkFromUrl } from "../link-from-url.ts";
import { unlessStopped } from "../process-end.ts";
import { type RecordedCall, type RecordedPayload, readRecording } from "../recording/calls.ts";
import {
  type Difference,
  differences,
  ignoring,
  type Span,
  type Tolerance,
} from "../recording/difference.ts";
import { linkOptionsOf, serverOptions, timeoutOf } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

interface Outcome {
  readonly call: RecordedCall;
  readonly differences: readonly Difference[];
}

export const replay = command({
  usage: "<file> <url> [options]",
  options: {
    ignore: {
      type: "string",
      value: "places",
      description: "places that may differ: result.token, result.*.id, with commas between",
    },
    exact: { type: "boolean", description: "times must be the same, too" },
    ...serverOptions,
    timeout: {
      ...serverOptions.timeout,
      description: "wait so long for each reply (default 10000)",
    },
    json: { type: "boolean", description: "tell the outcome as JSON" },
  },
  examples: [
    [
      "callwire replay calls.jsonl http://localhost:8000/rpc",
      "ids and the time of each call may differ",
    ],
    [
      "callwire replay calls.jsonl ws://localhost:8000/rpc --ignore result.token",
      "over another wire",
    ],
  ],
  async run(flags, positionals) {
    const [file, url, extra] = positionals;
    if (file === undefined || url === undefined) {
      throw new Failure('replay needs a file and an address; see "callwire replay --help"');
    }
    if (extra !== undefined)
      throw new Failure(`replay takes one address, not ${JSON.stringify(extra)} too`);
    const timeoutMs = timeoutOf(flags.timeout);
    const { payloads, skipped } = await readRecording(file);
    const ignores = ignoring((flags.ignore ?? "").split(",").map((place) => place.trim()));
    const options = linkOptionsOf(flags);
    const link = await linkFromUrl(url, options);
    const outcomes: Outcome[] = [];
    const sendAll = async (): Promise<void> => {
      for (const payload of payloads) {
        const from = Date.now();
        const replies = await sent(link, payload, timeoutMs);
        const now: Span = { from, to: Date.now() };
        for (const [i, call] of payload.entries()) {
          const spoken = flags.exact === true ? undefined : { before: call.spoken, now };
          const tolerance = { ignores, spoken };
          outcomes.push({ call, differences: compare(call, replies[i] as Answer, tolerance) });
        }
      }
    };
    try {
      await unlessStopped(sendAll());
    } catch (error) {
      throw await explainedFailure({ url, headers: options.headers }, error);
    } finally {
      await link.close();
    }
    const differing = outcomes.filter((outcome) => outcome.differences.length > 0);
    if (flags.json === true) {
      const told = differing.map(({ call, differences }) => ({ method: call.method, differences }));
      new Terminal(process.stdout).line(
        JSON.stringify({ calls: outcomes.length, skipped, differing: told }),
      );
    } else tell(outcomes.length, differing, skipped);
    process.exitCode = differing.length === 0 ? 0 : 1;
  },
});

interface Answer {
  readonly reply: Reply | undefined;
  readonly items: readonly unknown[];
}

let lastId = 0;

/** Sends what was sent at once at once. Each call gets an id of its own. */
async function sent(link: Link, payload: RecordedPayload, timeoutMs: number): Promise<Answer[]> {
  const items = payload.map((): unknown[] => []);
  const outgoing = payload.map((call, i): Outgoing => {
    const own: Outgoing = {
      cancel: undefined,
      item(value) {
        // As many as its caller took, who then left.
        if (items[i]?.push(value) === call.items.length && call.isLeft) own.cancel?.(left);
        return undefined;
      },
      progress() {},
      gap() {},
      headers: undefined,
      idempotent: false,
    };
    return own;
  });
  const requests = payload.map(
    ({ method, params, isNotification }): Request => ({
      jsonrpc: "2.0",
      method,
      params,
      id: isNotification ? undefined : ++lastId,
    }),
  );
  const [request, own] = [requests[0] as Request, outgoing[0] as Outgoing];
  const replies =
    payload.length === 1 ? [link.send(request, own)] : link.sendBatch(requests, outgoing);
  const landed = await Promise.all(
    payload.map((call, i) =>
      inTime(call, replies[i] as Promise<Reply | undefined>, outgoing[i] as Outgoing, timeoutMs),
    ),
  );
  return landed.map((reply, i) => ({ reply, items: items[i] ?? [] }));
}

const left = new WireError("ABORTED", "its caller left it, as before");

/** The reply to a call; undefined for one that had none then either, and is left again. */
async function inTime(
  { method, isLeft }: RecordedCall,
  reply: Promise<Reply | undefined>,
  outgoing: Outgoing,
  timeoutMs: number,
): Promise<Reply | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const end = (): void =>
      isLeft
        ? outgoing.cancel?.(left)
        : reject(new WireError("TIMEOUT", `no reply to ${method} in time`));
    timer = setTimeout(end, timeoutMs);
  });
  try {
    return await Promise.race([reply, late]);
  } catch (error) {
    if (error === left) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function compare(
  { reply, items, isNotification, isLeft }: RecordedCall,
  now: Answer,
  tolerance: Tolerance,
): Difference[] {
  // What nobody answered then has nothing to be compared with.
  if (isNotification) return [];
  const come = isLeft ? now.items.slice(0, items.length) : now.items;
  const streamed = differences(items, come, tolerance, ["items"]);
  if (isLeft) return streamed;
  return [
    ...differences(reply?.result, now.reply?.result, tolerance, ["result"]),
    ...differences(plain(reply?.error), plain(now.reply?.error), tolerance, ["error"]),
    ...streamed,
  ];
}

function plain(error: ErrorObject | undefined): unknown {
  if (error === undefined) return undefined;
  const { code, message, data } = error;
  return { code, message, ...(data === undefined ? {} : { data }) };
}

function tell(count: number, differing: readonly Outcome[], skipped: number): void {
  const terminal = new Terminal(process.stdout);
  for (const { call, differences: places } of differing) {
    terminal.line(terminal.bold(printable(JSON.stringify(call.method))));
    for (const { path, before, now } of places) {
      terminal.line(printable(`  ${path}: ${short(before)} became ${short(now)}`));
    }
  }
  const left =
    skipped === 0 ? "" : `, ${skipped} not sent, since part of them is secret or no call`;
  terminal.line(
    `${count} calls, ${count - differing.length} the same, ${differing.length} different${left}`,
  );
}

function short(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

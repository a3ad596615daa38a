import {
  type ErrorObject,
  type Link,
  type Outgoing,
  printable,
  type Reply,
  type Request,
  WireError,
} from "callwire";
import { explainFailure } from "../call-failure.ts";
import { defineCommand, flag, option } from "../command.ts";
import { commaSeparated, refuseExtra, timeoutOf } from "../command-arguments.ts";
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
import { linkOptionsOf, serverOptions } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

interface Outcome {
  readonly call: RecordedCall;
  readonly differences: readonly Difference[];
}

export const command = defineCommand({
  usage: "<file> <url> [options]",
  options: {
    ignore: option("paths", "may differ, such as result.token,result.*.id"),
    exact: flag("compare times too"),
    ...serverOptions,
    json: flag("print the result as JSON"),
  },
  examples: [
    ["callwire replay calls.jsonl http://localhost:8000/rpc", "ids and times may differ"],
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
    refuseExtra("replay", extra);
    const timeoutMs = timeoutOf(flags.timeout);
    const { payloads, skipped } = await readRecording(file);
    const ignores = ignoring(commaSeparated(flags.ignore ?? ""));
    const options = linkOptionsOf(flags);
    const link = await linkFromUrl(url, options);
    const outcomes: Outcome[] = [];
    const sendAll = async (): Promise<void> => {
      for (const payload of payloads) {
        const from = Date.now();
        const replies = await sent(link, payload, timeoutMs);
        const now: Span = { from, to: Date.now() };
        for (const [i, call] of payload.entries()) {
          const times = flags.exact === true ? undefined : { before: call.time, now };
          const tolerance = { ignores, times };
          outcomes.push({ call, differences: compare(call, replies[i] as Answer, tolerance) });
        }
      }
    };
    try {
      await unlessStopped(sendAll());
    } catch (error) {
      throw await explainFailure({ url, headers: options.headers }, error);
    } finally {
      await link.close();
    }
    const differing = outcomes.filter((outcome) => outcome.differences.length > 0);
    if (flags.json === true) {
      const changed = differing.map(({ call, differences }) => ({
        method: call.method,
        differences,
      }));
      new Terminal(process.stdout).line(
        JSON.stringify({ calls: outcomes.length, skipped, differing: changed }),
      );
    } else showOutcome(outcomes.length, differing, skipped);
    process.exitCode = differing.length === 0 ? 0 : 1;
  },
});

interface Answer {
  readonly reply: Reply | undefined;
  readonly items: readonly unknown[];
}

let lastId = 0;

async function sent(link: Link, payload: RecordedPayload, timeoutMs: number): Promise<Answer[]> {
  const items = payload.map((): unknown[] => []);
  const outgoing = payload.map((call, i): Outgoing => {
    const own: Outgoing = {
      cancel: undefined,
      item(value) {
        // Cancel after as many items as in the recording.
        if (items[i]?.push(value) === call.items.length && call.wasCancelled)
          own.cancel?.(cancelled);
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
  const settled = await Promise.all(
    payload.map((call, i) =>
      inTime(call, replies[i] as Promise<Reply | undefined>, outgoing[i] as Outgoing, timeoutMs),
    ),
  );
  return settled.map((reply, i) => ({ reply, items: items[i] ?? [] }));
}

const cancelled = new WireError("ABORTED", "cancelled, as in the recording");

/** The reply to a call; undefined if the recorded caller cancelled it. */
async function inTime(
  { method, wasCancelled }: RecordedCall,
  reply: Promise<Reply | undefined>,
  outgoing: Outgoing,
  timeoutMs: number,
): Promise<Reply | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const end = (): void =>
      wasCancelled
        ? outgoing.cancel?.(cancelled)
        : reject(new WireError("TIMEOUT", `no reply to ${method} within ${timeoutMs / 1000} s`));
    timer = setTimeout(end, timeoutMs);
  });
  try {
    return await Promise.race([reply, late]);
  } catch (error) {
    if (error === cancelled) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function compare(
  { reply, items, isNotification, wasCancelled }: RecordedCall,
  now: Answer,
  tolerance: Tolerance,
): Difference[] {
  if (isNotification) return [];
  const received = wasCancelled ? now.items.slice(0, items.length) : now.items;
  const streamed = differences(items, received, tolerance, ["items"]);
  if (wasCancelled) return streamed;
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

function showOutcome(count: number, differing: readonly Outcome[], skipped: number): void {
  const terminal = new Terminal(process.stdout);
  for (const { call, differences: places } of differing) {
    terminal.line(terminal.bold(printable(JSON.stringify(call.method))));
    for (const { path, before, now } of places) {
      terminal.line(printable(`  ${path}: ${short(before)} became ${short(now)}`));
    }
  }
  const rest = skipped === 0 ? "" : `, ${skipped} not sent (redacted params, or not a call)`;
  terminal.line(
    `${count} calls, ${count - differing.length} the same, ${differing.length} different${rest}`,
  );
}

function short(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length <= 80 ? text : `${text.slice(0, 80)}…`;
}

import { membersOf } from "../../protocol/envelope.ts";
import { isRpcError, type RpcError, WireError } from "../../protocol/errors.ts";
import { badReply } from "../../protocol/pair.ts";
import { isRecord } from "../../protocol/record.ts";
import { pause } from "../../protocol/waiting.ts";
import type { ElicitUrlParams, InputRequest } from "../client-input.ts";
import { McpError, McpErrorCode } from "../errors.ts";
import type { InputRequiredResult, Result } from "../results.ts";
import type { Answering } from "./input.ts";
import type { McpParams, ProtocolClient } from "./protocol-client.ts";
import { checkedShape, inputRequired } from "./result-shapes.ts";
import { answerTo, cancelSignal, type RequestOptions, signalOf } from "./waiting.ts";

/** Most rounds of questions for one request; stops a server that asks forever. */
const mostRounds = 32;

/** Repeats a request until the server has all answers and page visits that it requires. */
export async function requestInRounds<R extends Result>(
  protocol: ProtocolClient,
  method: string,
  params: McpParams,
  options: RequestOptions = {},
  input: Answering = protocol.input,
): Promise<R> {
  let visits: ReturnType<typeof urlElicitations> | undefined;
  let answers: McpParams | undefined;
  try {
    for (let round = 0; round < mostRounds; round++) {
      let result: R;
      try {
        const all = answers === undefined ? params : { ...params, ...answers };
        result = await protocol.request<R>(method, all, options);
      } catch (error) {
        visits ??= urlElicitations(protocol, signalOf(options), input);
        await visits.after(error);
        continue;
      }
      if (result?.resultType !== "input_required") return result;
      answers = await answersFor(
        checkedShape(method, result as unknown as InputRequiredResult, inputRequired),
        protocol,
        signalOf(options),
        input,
      );
    }
  } finally {
    visits?.end();
  }
  throw new WireError("TOO_LARGE", `${method} asked for input in more than ${mostRounds} rounds`);
}

/** What the repeated request carries: the answers, and the state exactly as the server sent it. */
async function answersFor(
  { inputRequests, requestState }: InputRequiredResult,
  protocol: ProtocolClient,
  signal: AbortSignal | undefined,
  input: Answering,
): Promise<McpParams> {
  if (!isRecord(inputRequests) && requestState === undefined) {
    throw badReply("the server asked for input without any question");
  }
  return {
    ...(isRecord(inputRequests) && {
      inputResponses: await answersTo(inputRequests, protocol, signal, input),
    }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** Most questions at a time: each may cost a person time, or a model money. */
const mostQuestions = 100;

/** Answers all questions concurrently. */
export async function answersTo(
  requests: Readonly<Record<string, InputRequest>>,
  protocol: ProtocolClient,
  signal: AbortSignal | undefined,
  input?: Answering,
): Promise<McpParams> {
  const asked = Object.entries(requests);
  if (asked.length > mostQuestions) {
    throw new WireError(
      "TOO_LARGE",
      `the server asked more than ${mostQuestions} questions at once`,
    );
  }
  const answers = await Promise.all(
    asked.map(
      async ([key, request]) => [key, await answerTo(request, protocol, signal, input)] as const,
    ),
  );
  return Object.fromEntries(answers);
}

/** How long to wait for the completion notification before retrying anyway; it doubles. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/**
 * Lets the user visit the pages that a server of 2025-11-25 requires before it accepts a request. `after` resolves when
 * the request should be retried; it rethrows any error that does not require a page.
 */
function urlElicitations(
  protocol: ProtocolClient,
  signal: AbortSignal | undefined,
  input: Answering,
) {
  const gone = cancelSignal(protocol, signal);
  const visited = new Set<string>();
  let completed = new AbortController();
  let waitMs = firstWaitMs;
  const stopListening = protocol.onNotified((method, { elicitationId }) => {
    const isDone = method === "notifications/elicitation/complete";
    if (isDone && visited.has(String(elicitationId))) completed.abort();
  });
  const visit = async (page: ElicitUrlParams, { data }: RpcError): Promise<void> => {
    const request = { method: "elicitation/create", params: page } as const;
    const { action } = (await answerTo(request, protocol, gone, input)) as { action?: unknown };
    if (action !== "accept") {
      const sentence = `the request requires a visit to ${page.url}, which the user declined`;
      throw new McpError(McpErrorCode.UrlElicitationRequired, sentence, data);
    }
    visited.add(keyOf(page));
  };
  return {
    async after(error: unknown): Promise<void> {
      if (!isRpcError(error, McpErrorCode.UrlElicitationRequired)) throw error;
      const pages = pagesIn(error.data);
      if (pages === undefined || !input.visitsPages) throw error;
      const fresh = pages.filter((page) => !visited.has(keyOf(page)));
      // One at a time, because a person visits them.
      for (const page of fresh) await visit(page, error);
      if (fresh.length > 0) return;
      // The server reports that the visit is complete; not every server does.
      await pause(waitMs, protocol.clock, AbortSignal.any([gone, completed.signal]));
      waitMs = Math.min(waitMs * 2, longestWaitMs);
      completed = new AbortController();
    },
    end: stopListening,
  };
}

function pagesIn(data: unknown): readonly ElicitUrlParams[] | undefined {
  const { elicitations } = membersOf(data);
  const isPage = (each: unknown): boolean =>
    isRecord(each) && each.mode === "url" && typeof each.url === "string";
  const isList = Array.isArray(elicitations) && elicitations.length > 0;
  return isList && elicitations.every(isPage) ? (elicitations as ElicitUrlParams[]) : undefined;
}

function keyOf({ elicitationId, url }: ElicitUrlParams): string {
  return elicitationId ?? url;
}

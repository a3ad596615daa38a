import type { CallOptions } from "../../client/outgoing-call.ts";
import { WireError } from "../../protocol/errors.ts";
import { badReply } from "../../protocol/pair.ts";
import type { InputRequest } from "../client-input.ts";
import { isRecord } from "../record.ts";
import type { InputRequiredResult, Result } from "../results.ts";
import type { McpParams, ProtocolClient } from "./protocol-client.ts";
import { checkedShape, inputRequired } from "./result-shapes.ts";
import { UrlElicitations } from "./url-elicitation.ts";
import { answerTo } from "./waiting.ts";

/** Most rounds of questions for one request; stops a server that asks forever. */
const mostRounds = 32;

/** Repeats a request until the server has all answers and page visits that it requires. */
export async function requestInRounds<R extends Result>(
  protocol: ProtocolClient,
  method: string,
  params: McpParams,
  options: CallOptions = {},
): Promise<R> {
  const { signal } = options;
  let visits: UrlElicitations | undefined;
  let answers: McpParams = {};
  try {
    for (let round = 0; round < mostRounds; round++) {
      let result: R;
      try {
        result = await protocol.request<R>(method, { ...params, ...answers }, options);
      } catch (error) {
        visits ??= new UrlElicitations(protocol, signal);
        await visits.after(error);
        continue;
      }
      if (result?.resultType !== "input_required") return result;
      answers = await answersFor(
        checkedShape(method, result as unknown as InputRequiredResult, inputRequired),
        protocol,
        signal,
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
): Promise<McpParams> {
  if (!isRecord(inputRequests) && requestState === undefined) {
    throw badReply("the server asked for input without any question");
  }
  return {
    ...(isRecord(inputRequests) && {
      inputResponses: await answersTo(inputRequests, protocol, signal),
    }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** Answers all questions concurrently. */
export async function answersTo(
  requests: Readonly<Record<string, InputRequest>>,
  protocol: ProtocolClient,
  signal: AbortSignal | undefined,
): Promise<McpParams> {
  const answers = await Promise.all(
    Object.entries(requests).map(
      async ([key, request]) => [key, await answerTo(request, protocol, signal)] as const,
    ),
  );
  return Object.fromEntries(answers);
}

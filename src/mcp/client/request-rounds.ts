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

/** A server that never has enough must not keep its user answering for ever. */
const mostRounds = 32;

/** Makes a request as often as it takes to do and to answer all that the server wants for it. */
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
  throw new WireError("TOO_LARGE", `${method} wanted input in more than ${mostRounds} rounds`);
}

/** What goes back with the request: the answers, and the state as it came, or none where none came. */
async function answersFor(
  { inputRequests, requestState }: InputRequiredResult,
  protocol: ProtocolClient,
  signal: AbortSignal | undefined,
): Promise<McpParams> {
  if (!isRecord(inputRequests) && requestState === undefined) {
    throw badReply("the server wants input and does not say which");
  }
  return {
    ...(isRecord(inputRequests) && {
      inputResponses: await answersTo(inputRequests, protocol, signal),
    }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** Answers all questions at once. */
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

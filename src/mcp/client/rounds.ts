import type { CallOptions } from "../../client/outgoing-call.ts";
import { WireError } from "../../protocol/errors.ts";
import { badReply } from "../../protocol/pair.ts";
import type { InputRequest } from "../client-input.ts";
import { isRecord } from "../record.ts";
import type { InputRequiredResult, Result } from "../results.ts";
import { answerTo } from "./answering.ts";
import type { Conversation, McpParams } from "./conversation.ts";
import { PageVisits } from "./page-visits.ts";
import { fitting, inputRequired } from "./result-shapes.ts";

/** A server that never has enough must not keep its user answering for ever. */
const mostRounds = 32;

/** Makes a request as often as it takes to do and to answer all that the server wants for it. */
export async function inRounds<R extends Result>(
  conversation: Conversation,
  method: string,
  params: McpParams,
  options: CallOptions = {},
): Promise<R> {
  const { signal } = options;
  let visits: PageVisits | undefined;
  let answers: McpParams = {};
  try {
    for (let round = 0; round < mostRounds; round++) {
      let result: R;
      try {
        result = await conversation.request<R>(method, { ...params, ...answers }, options);
      } catch (error) {
        visits ??= new PageVisits(conversation, signal);
        await visits.after(error);
        continue;
      }
      if (result?.resultType !== "input_required") return result;
      answers = await answersFor(
        fitting(method, result as unknown as InputRequiredResult, inputRequired),
        conversation,
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
  conversation: Conversation,
  signal: AbortSignal | undefined,
): Promise<McpParams> {
  if (!isRecord(inputRequests) && requestState === undefined) {
    throw badReply("the server wants input and does not say which");
  }
  return {
    ...(isRecord(inputRequests) && {
      inputResponses: await answersTo(inputRequests, conversation, signal),
    }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** Answers all questions at once. */
export async function answersTo(
  requests: Readonly<Record<string, InputRequest>>,
  conversation: Conversation,
  signal: AbortSignal | undefined,
): Promise<McpParams> {
  const answers = await Promise.all(
    Object.entries(requests).map(
      async ([key, request]) => [key, await answerTo(request, conversation, signal)] as const,
    ),
  );
  return Object.fromEntries(answers);
}

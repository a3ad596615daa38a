import type { CallOptions } from "../../client/outgoing-call.ts";
import { WireError } from "../../protocol/errors.ts";
import { badReply } from "../../protocol/pair.ts";
import type { InputRequest } from "../client-input.ts";
import type { InputRequiredResult, Result } from "../results.ts";
import type { Conversation, McpParams } from "./conversation.ts";

/** A server that never has enough must not keep its user answering for ever. */
const mostRounds = 32;

/** Makes a request as often as it takes to answer all that the server wants to know for it. */
export async function inRounds<R extends Result>(
  conversation: Conversation,
  method: string,
  params: McpParams,
  options: CallOptions = {},
): Promise<R> {
  let answers: McpParams = {};
  for (let round = 0; round < mostRounds; round++) {
    const result = await conversation.request<R>(method, { ...params, ...answers }, options);
    if (result?.resultType !== "input_required") return result;
    const { inputRequests, requestState } = result as unknown as InputRequiredResult;
    if (inputRequests === undefined && requestState === undefined) {
      throw badReply("the server wants input and does not say which");
    }
    // The state goes back as it came, and none where none came.
    answers = {
      ...(inputRequests !== undefined && {
        inputResponses: await answersTo(inputRequests, conversation, options.signal),
      }),
      ...(requestState !== undefined && { requestState }),
    };
  }
  throw new WireError("TOO_LARGE", `${method} wanted input in more than ${mostRounds} rounds`);
}

/** A kind of result that nobody agreed on must not be taken for another. */
export function completed<R extends Result>(result: R): R {
  const { resultType } = result ?? {};
  if (resultType === undefined || resultType === "complete") return result;
  throw badReply(`the server gave a result of the unknown kind ${JSON.stringify(resultType)}`);
}

/** Answers all questions at once. */
export async function answersTo(
  requests: Readonly<Record<string, InputRequest>>,
  { input }: Conversation,
  signal: AbortSignal = new AbortController().signal,
): Promise<McpParams> {
  const answers = await Promise.all(
    Object.entries(requests).map(
      async ([key, request]) => [key, await input.answer(request, { signal })] as const,
    ),
  );
  return Object.fromEntries(answers);
}

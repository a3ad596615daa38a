import { chunksOf, isEventStream, readText } from "../../http/client-exchange.ts";
import { EventStreamDecoder } from "../../http/event-stream.ts";
import { RemoteError } from "../../protocol/errors.ts";
import { badReply, replyOf } from "../../protocol/pair.ts";

/** The results of a response, each with its length: those of its events, or the one that it is. */
export async function* resultsOf(
  response: Response,
  maxLength: number,
): AsyncGenerator<readonly [unknown, number]> {
  if (!isEventStream(response.headers.get("content-type"))) {
    const text = await readText(chunksOf(response.body), maxLength);
    yield [resultOf(text, response.status), text.length];
    return;
  }
  const decoder = new EventStreamDecoder(maxLength);
  const found: string[] = [];
  for await (const chunk of chunksOf(response.body)) {
    decoder.push(chunk, ({ data }) => found.push(data));
    for (const data of found.splice(0)) yield [resultOf(data, 200), data.length];
  }
}

function resultOf(text: string, status: number): unknown {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch (cause) {
    const what =
      status === 200 ? "the reply is not JSON" : `the agent answered with HTTP status ${status}`;
    throw badReply(what, { cause });
  }
  const reply = replyOf(message);
  if (reply === undefined) throw badReply("the reply has neither a result nor an error");
  if (reply.error !== undefined) throw RemoteError.from(reply.error);
  return reply.result;
}

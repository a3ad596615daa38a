import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { Readable } from "node:stream";
import { WireError } from "callwire";

/** A `fetch` without the platform's blocked ports and its limit of five minutes. */
export function httpFetch(url: string, init: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? secureRequest : plainRequest;
    const body = Buffer.from(String(init.body ?? ""));
    const outgoing = send(url, {
      method: init.method ?? "GET",
      headers: { ...(init.headers as Record<string, string>), "content-length": body.length },
      ...(init.signal ? { signal: init.signal } : undefined),
    });
    outgoing.on("error", (error) => reject(withMessage(error)));
    outgoing.on("response", (response) => {
      const { statusCode = 0, headers } = response;
      const type = headers["content-type"];
      const options = {
        status: statusCode,
        ...(type === undefined ? undefined : { headers: { "content-type": type } }),
      };
      // `Response` throws for other statuses, and for a body with some of these.
      if (statusCode < 200 || statusCode > 599) {
        response.destroy();
        reject(new WireError("BAD_REPLY", `the server answered with the status ${statusCode}`));
        return;
      }
      const isBodiless = [204, 205, 304].includes(statusCode);
      if (isBodiless) response.resume();
      const content = isBodiless ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>);
      resolve(new Response(content, options));
    });
    outgoing.end(body);
  });
}

/** The error for several refused addresses has an empty message. */
function withMessage(error: Error): Error {
  const [first] = (error as AggregateError).errors ?? [];
  return error.message === "" && first instanceof Error ? first : error;
}

const longestBody = 32 * 1024 * 1024;

/** Reads a body up to a limit, so that an endless one cannot exhaust memory. */
export async function bodyOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > longestBody) {
      throw new WireError("TOO_LARGE", `the reply is longer than ${longestBody} characters`);
    }
  }
  return text + decoder.decode();
}

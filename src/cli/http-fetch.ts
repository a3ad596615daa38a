import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { Readable } from "node:stream";

/**
 * A `fetch` for the tools: that of the platform refuses ports on which browsers may not call, and
 * gives up on a reply after five minutes.
 */
export function httpFetch(url: string, init: RequestInit): Promise<Response> {
  return new Promise((resolve, reject) => {
    const send = url.startsWith("https:") ? secureRequest : plainRequest;
    const body = Buffer.from(String(init.body ?? ""));
    const outgoing = send(url, {
      method: init.method ?? "GET",
      headers: { ...(init.headers as Record<string, string>), "content-length": body.length },
      ...(init.signal ? { signal: init.signal } : undefined),
    });
    outgoing.on("error", (error) => reject(told(error)));
    outgoing.on("response", (response) => {
      const { statusCode = 0, headers } = response;
      const type = headers["content-type"];
      const options = {
        status: statusCode,
        ...(type === undefined ? undefined : { headers: { "content-type": type } }),
      };
      const isBodiless = statusCode === 204 || statusCode === 304;
      if (isBodiless) response.resume();
      const content = isBodiless ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>);
      resolve(new Response(content, options));
    });
    outgoing.end(body);
  });
}

/** When each of several addresses refused, the error that holds them all has no text. */
function told(error: Error): Error {
  const [first] = (error as AggregateError).errors ?? [];
  return error.message === "" && first instanceof Error ? first : error;
}

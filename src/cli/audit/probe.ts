import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { request as httpsRequest } from "node:https";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The error in the body, where it holds one. */
  readonly code: number | undefined;
}

export interface Probe {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const longestAnswer = 4 * 1024 * 1024;

/** Sends a request as it is; `fetch` would not let us name another host. */
export function probe(url: URL, timeoutMs: number, ask: Probe): Promise<Answer> {
  const { method = "POST", body = "" } = ask;
  const headers = { "content-type": "application/json", ...ask.headers };
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = send(url, { method, headers, agent: false }, (response) => {
      let text = "";
      const answered = (): void => {
        clearTimeout(late);
        const { statusCode: status = 0, headers } = response;
        resolve({ status, headers, text, code: codeIn(text) });
      };
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length < longestAnswer) return;
        answered();
        outgoing.destroy();
      });
      response.on("error", failed);
      response.on("end", answered);
    });
    const failed = (error: Error): void => {
      clearTimeout(late);
      reject(error);
    };
    // The whole answer has to be there by then: one that goes on for ever is none.
    const late = setTimeout(() => {
      failed(new Error(`no answer within ${timeoutMs} ms`));
      outgoing.destroy();
    }, timeoutMs);
    outgoing.on("error", failed);
    outgoing.end(body);
  });
}

function codeIn(text: string): number | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown } };
    return typeof error?.code === "number" ? error.code : undefined;
  } catch {
    return undefined;
  }
}

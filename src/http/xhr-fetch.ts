import type { UploadProgress } from "../protocol/link.ts";

/** Sends a request in a browser, and reports how much of it was sent, which `fetch` cannot. */
export function xhrFetch(
  url: string,
  { method = "POST", headers, body, signal }: RequestInit,
  report: (progress: UploadProgress) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open(method, url);
    // The browser may keep a Blob on disk.
    request.responseType = "blob";
    for (const [name, value] of Object.entries(headers as Record<string, string>)) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total, lengthComputable }) => {
      report({ sent: loaded, total: lengthComputable ? total : undefined });
    };
    const abort = (): void => request.abort();
    request.onloadend = () => signal?.removeEventListener("abort", abort);
    request.onabort = () => reject(signal?.reason ?? new Error("the request was aborted"));
    request.onerror = () => reject(new TypeError("the request failed"));
    request.onload = () => resolve(responseOf(request));
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    signal?.addEventListener("abort", abort, { once: true });
    request.send(body as Blob);
  });
}

function responseOf(request: XMLHttpRequest): Response {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const { status } = request;
  const body = status === 204 || status === 304 ? null : (request.response as Blob);
  return new Response(body, { status, headers });
}

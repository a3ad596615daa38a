import { isRpcError, type RpcError } from "../../protocol/errors.ts";
import type { ElicitUrlParams } from "../client-input.ts";
import { McpError, McpErrorCode } from "../errors.ts";
import { isRecord } from "../record.ts";
import { pause } from "./pause.ts";
import type { ProtocolClient } from "./protocol-client.ts";
import { answerTo, cancelSignal } from "./waiting.ts";

/** How long to wait for the completion notification before retrying anyway; it doubles. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/** Lets the user visit the pages that a server of 2025-11-25 requires before it accepts a request. */
export class UrlElicitations {
  readonly #protocol: ProtocolClient;
  readonly #gone: AbortSignal;
  readonly #visited = new Set<string>();
  #stopListening: (() => void) | undefined;
  #completed = new AbortController();
  #waitMs = firstWaitMs;

  constructor(protocol: ProtocolClient, signal: AbortSignal | undefined) {
    this.#protocol = protocol;
    this.#gone = cancelSignal(protocol, signal);
  }

  /** Resolves when the request should be retried; rethrows any error that does not require a page. */
  async after(error: unknown): Promise<void> {
    if (!isRpcError(error, McpErrorCode.UrlElicitationRequired)) throw error;
    const pages = pagesIn(error.data);
    if (pages === undefined || !this.#protocol.input.visitsPages) throw error;
    this.#stopListening ??= this.#protocol.onNotified((method, { elicitationId }) => {
      const isDone = method === "notifications/elicitation/complete";
      if (isDone && this.#visited.has(String(elicitationId))) this.#completed.abort();
    });
    const fresh = pages.filter((page) => !this.#visited.has(keyOf(page)));
    // One at a time, because a person visits them.
    for (const page of fresh) await this.#visit(page, error);
    if (fresh.length === 0) await this.#completion();
  }

  end(): void {
    this.#stopListening?.();
  }

  async #visit(page: ElicitUrlParams, { data }: RpcError): Promise<void> {
    const request = { method: "elicitation/create", params: page } as const;
    const answer = await answerTo(request, this.#protocol, this.#gone);
    const { action } = answer as { action?: unknown };
    if (action !== "accept") {
      const sentence = `the request requires a visit to ${page.url}, which the user declined`;
      throw new McpError(McpErrorCode.UrlElicitationRequired, sentence, data);
    }
    this.#visited.add(keyOf(page));
  }

  /** Waits for the server to report that the visit is complete; not every server does. */
  async #completion(): Promise<void> {
    const { clock } = this.#protocol;
    await pause(this.#waitMs, clock, AbortSignal.any([this.#gone, this.#completed.signal]));
    this.#waitMs = Math.min(this.#waitMs * 2, longestWaitMs);
    this.#completed = new AbortController();
  }
}

function pagesIn(data: unknown): readonly ElicitUrlParams[] | undefined {
  const { elicitations } = isRecord(data) ? data : {};
  const isPage = (each: unknown): boolean =>
    isRecord(each) && each.mode === "url" && typeof each.url === "string";
  const isList = Array.isArray(elicitations) && elicitations.length > 0;
  return isList && elicitations.every(isPage) ? (elicitations as ElicitUrlParams[]) : undefined;
}

function keyOf({ elicitationId, url }: ElicitUrlParams): string {
  return elicitationId ?? url;
}

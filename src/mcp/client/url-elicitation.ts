import { isRpcError, type RpcError } from "../../protocol/errors.ts";
import type { ElicitUrlParams } from "../client-input.ts";
import { McpError, McpErrorCode } from "../errors.ts";
import { isRecord } from "../record.ts";
import { pause } from "./pause.ts";
import type { ProtocolClient } from "./protocol-client.ts";
import { answerTo, cancelSignal } from "./waiting.ts";

/** How long to wait for word that a visit has worked, before just trying; it doubles. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/** The pages that a server wants its user to have visited before it does a request (2025-11-25). */
export class UrlElicitations {
  readonly #protocol: ProtocolClient;
  readonly #gone: AbortSignal;
  readonly #visited = new Set<string>();
  #stopHearing: (() => void) | undefined;
  #completed = new AbortController();
  #waitMs = firstWaitMs;

  constructor(protocol: ProtocolClient, signal: AbortSignal | undefined) {
    this.#protocol = protocol;
    this.#gone = cancelSignal(protocol, signal);
  }

  /** Resolves when the request is worth making again; throws the error where it says nothing of pages. */
  async after(error: unknown): Promise<void> {
    if (!isRpcError(error, McpErrorCode.UrlElicitationRequired)) throw error;
    const pages = pagesIn(error.data);
    if (pages === undefined || !this.#protocol.input.visitsPages) throw error;
    this.#stopHearing ??= this.#protocol.onNotified((method, { elicitationId }) => {
      const isDone = method === "notifications/elicitation/complete";
      if (isDone && this.#visited.has(String(elicitationId))) this.#completed.abort();
    });
    const fresh = pages.filter((page) => !this.#visited.has(keyOf(page)));
    // One after the other, as people visit them.
    for (const page of fresh) await this.#visit(page, error);
    if (fresh.length === 0) await this.#completion();
  }

  end(): void {
    this.#stopHearing?.();
  }

  async #visit(page: ElicitUrlParams, { data }: RpcError): Promise<void> {
    const request = { method: "elicitation/create", params: page } as const;
    const answer = await answerTo(request, this.#protocol, this.#gone);
    const { action } = answer as { action?: unknown };
    if (action !== "accept") {
      const sentence = `the request needs a visit to ${page.url}, and the user would not go there`;
      throw new McpError(McpErrorCode.UrlElicitationRequired, sentence, data);
    }
    this.#visited.add(keyOf(page));
  }

  /** The user has gone there, and is not done: the server says so when they are, or may forget to. */
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

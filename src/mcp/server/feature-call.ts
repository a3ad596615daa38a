import { type JsonSchemaObject, jsonSchemaOf } from "../../openrpc/json-schema.ts";
import type { Ending } from "../../protocol/call-end.ts";
import type { CallContext, CallFacts } from "../../protocol/context.ts";
import { RpcError } from "../../protocol/errors.ts";
import type { Log } from "../../protocol/log.ts";
import type { ErrorObject, Id, MaybePromise, Params } from "../../protocol/message.ts";
import type { Peer, Principal, Transport } from "../../protocol/origin.ts";
import { requestCancelled } from "../../protocol/standard-errors.ts";
import type { Schema } from "../../protocol/standard-schema.ts";
import { invalidParamsReply } from "../../server/validate.ts";
import { callFacts } from "../call-facts.ts";
import { type LogLevel, logLevels } from "../capabilities.ts";
import type {
  ElicitFormParams,
  InputRequest,
  RootsResult,
  SampleParams,
  SampleResult,
} from "../client-input.ts";
import type { Meta } from "../meta-keys.ts";
import type { Progress } from "../results.ts";
import { atLeast } from "../revisions.ts";
import { type ClientRequester, directRequester, RoundRequester } from "./client-requester.ts";
import type { AskOptions, Elicited, FormContent, McpCall } from "./mcp-call.ts";
import type { Caller, ClientDescription } from "./operation.ts";
import { rememberPage } from "./session.ts";
import { schemaOf, type ToolOutput } from "./tool.ts";

/** How a call that outlives its request is cancelled and reaches the client. */
export interface DetachedContext {
  readonly signal: AbortSignal;
  readonly peer: Peer | undefined;
  /** The `_meta` of its notifications. */
  readonly meta?: Meta | undefined;
}

/** Starts a task. */
export type BeginTask = (run: (call: McpCall) => MaybePromise<ToolOutput>) => void;

/** The call of one tool, prompt or resource, as middleware and handlers see it. */
export class FeatureCall implements McpCall {
  readonly method: string;
  readonly #caller: Caller;
  readonly #outer: CallContext;
  readonly #meta: Meta | undefined;
  readonly #detached: DetachedContext | undefined;
  #progress = 0;
  #progressed = false;
  /** Sends questions to the client; created with the first one unless it was set before. */
  requester: ClientRequester | undefined = undefined;
  /** Set if the handler may start a task. */
  beginTask: BeginTask | undefined = undefined;

  constructor(
    outer: CallContext,
    method: string,
    caller: Caller,
    meta: Meta | undefined,
    detached?: DetachedContext,
  ) {
    this.#outer = outer;
    this.method = method;
    this.#caller = caller;
    this.#meta = meta;
    this.#detached = detached;
  }

  /** A plain object, because handlers log it or return it; the session has secrets. */
  get client(): ClientDescription {
    const { revision, capabilities, info } = this.#caller;
    return { revision, capabilities, info };
  }
  /** Made when an observer asks for it. */
  get facts(): CallFacts {
    const { method, request } = this.#outer;
    const { revision, session } = this.#caller;
    return callFacts(method, request.params, { revision, sessionId: session?.id });
  }
  /** Everything that is known about the client, with its session. */
  get caller(): Caller {
    return this.#caller;
  }
  /** The `_meta` of the request. */
  get meta(): Meta | undefined {
    return this.#meta;
  }
  /** Set if the questions of this call go out with its reply. */
  get rounds(): RoundRequester | undefined {
    if (this.#caller.session !== undefined) return undefined;
    const requester = this.#ask();
    return requester instanceof RoundRequester ? requester : undefined;
  }
  get id(): Id | undefined {
    return this.#outer.id;
  }
  get signal(): AbortSignal {
    return this.#detached?.signal ?? this.#outer.signal;
  }
  /** What tells that the call is over, without a signal if it can. */
  get ending(): Ending {
    return this.#detached ?? this.#outer;
  }
  get deadline(): number | undefined {
    return this.#detached === undefined ? this.#outer.deadline : undefined;
  }
  get peer(): Peer {
    return this.#detached?.peer ?? this.#outer.peer;
  }
  get principal(): Principal | undefined {
    return this.#outer.principal;
  }
  set principal(principal: Principal | undefined) {
    this.#outer.principal = principal;
  }
  get transport(): Transport {
    return this.#outer.transport;
  }
  get log(): Log {
    return this.#outer.log;
  }
  /** As in `CallContext`: an error after the cancellation is not a failure of the handler. */
  get ended(): ErrorObject | undefined {
    if (this.#detached === undefined) return this.#outer.ended;
    return this.#detached.signal.aborted ? requestCancelled : undefined;
  }

  limit(limitMs: number): void {
    if (this.#detached === undefined) this.#outer.limit(limitMs);
  }

  progress(value: unknown): void {
    const token = this.#meta?.progressToken;
    if (token === undefined || this.ended !== undefined) return;
    const report = progressOf(value, this.#progress);
    // MCP requires that progress increases; the first value may be 0.
    if (this.#progressed && report.progress <= this.#progress) return;
    this.#progressed = true;
    this.#progress = report.progress;
    const { message, ...rest } = report;
    const knowsMessages = atLeast(this.#caller.revision, "2025-03-26");
    const sent = this.#notify("notifications/progress", {
      progressToken: token,
      ...(knowsMessages ? report : rest),
    });
    if (sent && this.#detached === undefined) this.#outer.progressSent();
  }

  notify(method: string, params?: Params): boolean {
    return this.#notify(method, params);
  }

  message(level: LogLevel, data: unknown, logger?: string): void {
    const { logLevel } = this.#caller;
    if (logLevel === undefined || logLevels.indexOf(level) < logLevels.indexOf(logLevel)) return;
    this.#notify("notifications/message", {
      level,
      data: data ?? null,
      ...(logger !== undefined && { logger }),
    });
  }

  elicit<S extends Schema | JsonSchemaObject>(
    message: string,
    schema: S,
    options: AskOptions = {},
  ): Promise<Elicited<FormContent<S>>> {
    return ignoreUnhandled(this.#elicit(message, schema, options));
  }

  async #elicit<S extends Schema | JsonSchemaObject>(
    message: string,
    schema: S,
    options: AskOptions,
  ): Promise<Elicited<FormContent<S>>> {
    const standard = schemaOf(schema);
    const params: ElicitFormParams = {
      ...(atLeast(this.#caller.revision, "2025-11-25") && { mode: "form" as const }),
      message,
      requestedSchema: formSchema(standard),
    };
    const request = { method: "elicitation/create", params } as const;
    const { action, content } = await this.#ask().ask(request, options.key);
    if (action !== "accept") return { action };
    const checked = await standard["~standard"].validate(content ?? {});
    if (checked.issues !== undefined) {
      const { error } = invalidParamsReply(checked.issues);
      throw new RpcError(-32602, "the content does not match the schema of the form", error?.data);
    }
    return { action, content: checked.value as FormContent<S> };
  }

  elicitUrl(
    message: string,
    url: string,
    options: AskOptions & { readonly elicitationId?: string } = {},
  ): Promise<{ readonly action: "accept" | "decline" | "cancel" }> {
    const { session } = this.#caller;
    const { elicitationId = crypto.randomUUID() } = options;
    if (session !== undefined) rememberPage(session, elicitationId);
    const params = {
      mode: "url" as const,
      message,
      url,
      ...(session !== undefined && { elicitationId }),
    };
    const request = { method: "elicitation/create", params } as const;
    const answer = this.#ask().ask(request, options.key);
    return ignoreUnhandled(answer.then(({ action }) => ({ action })));
  }

  sample(params: SampleParams, options: AskOptions = {}): Promise<SampleResult> {
    return ignoreUnhandled(
      this.#ask().ask({ method: "sampling/createMessage", params }, options.key),
    );
  }

  roots(options: AskOptions = {}): Promise<RootsResult["roots"]> {
    const answer = this.#ask().ask({ method: "roots/list", params: {} }, options.key);
    return ignoreUnhandled(answer.then(({ roots }) => roots));
  }

  /** Passes on a question of another server. */
  ask(request: InputRequest): Promise<object> {
    return ignoreUnhandled(this.#ask().ask(request, undefined));
  }

  releaseStream(): void {
    (this.#outer.peer as Peer & { release?(): void }).release?.();
  }

  task(run: (call: McpCall) => MaybePromise<ToolOutput>): MaybePromise<ToolOutput> {
    if (this.beginTask === undefined) return run(this);
    this.beginTask(run);
    return undefined;
  }

  #ask(): ClientRequester {
    const caller = this.#caller;
    this.requester ??=
      caller.session === undefined
        ? new RoundRequester({}, caller.capabilities)
        : directRequester(this.peer, caller, this.signal);
    return this.requester;
  }

  #notify(method: string, params: Params | undefined): boolean {
    if (this.#detached === undefined) return this.#outer.notify(method, params);
    const { peer, meta } = this.#detached;
    return peer?.notify(method, meta === undefined ? params : { ...params, _meta: meta }) ?? false;
  }
}

/** A handler that stops at its first question leaves other answers unhandled, which must not crash the process. */
function ignoreUnhandled<T>(answer: Promise<T>): Promise<T> {
  answer.catch(() => {});
  return answer;
}

/** Converts a progress value of any form; MCP requires an increasing number. */
function progressOf(value: unknown, before: number): Progress {
  if (typeof value === "number") return { progress: value };
  const given = (typeof value === "object" && value !== null ? value : {}) as Partial<Progress>;
  const { progress, total, message } = given;
  const text = typeof value === "string" ? value : message;
  return {
    progress: typeof progress === "number" ? progress : before + 1,
    ...(typeof total === "number" && { total }),
    ...(typeof text === "string" && { message: text }),
  };
}

/** Only the keywords that MCP allows in a form. */
function formSchema(schema: Schema): JsonSchemaObject {
  const { properties = {}, required } = jsonSchemaOf(schema, "input", undefined, "draft-2020-12");
  return { type: "object", properties, ...(required !== undefined && { required }) };
}

import type { Context } from "../protocol/context.ts";
import type { Log } from "../protocol/log.ts";
import type { Principal } from "../protocol/origin.ts";
import type { LiveWork } from "../work/live-work.ts";
import type { AgentTask } from "./executor.ts";
import type { Artifact, Message, Metadata, SendParams, StreamResponse } from "./model.ts";
import type { TaskBody } from "./task-record.ts";

/** The task as an agent sees it. */
export class HandedTask implements AgentTask {
  readonly id: string;
  readonly contextId: string;
  readonly history: readonly Message[];
  readonly artifacts: readonly Artifact[];
  readonly principal: Principal | undefined;
  readonly tenant: string | undefined;
  readonly extensions: readonly string[];
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: Metadata;
  readonly log: Log;
  readonly #work: LiveWork<TaskBody, StreamResponse>;

  constructor(
    work: LiveWork<TaskBody, StreamResponse>,
    { configuration, tenant, metadata = {} }: SendParams,
    call: Context,
  ) {
    const { task } = work.first.body;
    this.id = task.id;
    this.contextId = task.contextId;
    this.history = task.history ?? [];
    this.artifacts = task.artifacts ?? [];
    this.principal = call.principal;
    this.tenant = tenant;
    this.extensions = declaredExtensions(call);
    this.acceptedOutputModes = configuration?.acceptedOutputModes ?? [];
    this.metadata = metadata;
    this.log = call.log;
    this.#work = work;
  }

  /** Made when an agent first asks for it: most do not. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }
}

/** The extensions that the client declared in `A2A-Extensions`. */
export function declaredExtensions(call: Context): readonly string[] {
  const header =
    call.transport.headers["a2a-extensions"] ?? call.transport.headers["x-a2a-extensions"];
  if (header === undefined) return [];
  const text = Array.isArray(header) ? header.join(",") : String(header);
  return text
    .split(",")
    .map((uri) => uri.trim())
    .filter((uri) => uri !== "");
}

import type { Log } from "../protocol/log.ts";
import type { MaybePromise } from "../protocol/message.ts";
import type { Principal } from "../protocol/origin.ts";
import type { AgentUpdate, Content } from "./agent-update.ts";
import type { Artifact, Message, Metadata } from "./model.ts";

/** The message that an agent is to answer. */
export interface IncomingMessage extends Message {
  /** All text of its parts. */
  readonly text: string;
}

/** The task that an agent works on. */
export interface AgentTask {
  readonly id: string;
  readonly contextId: string;
  /** All messages so far, including the one to answer. */
  readonly history: readonly Message[];
  /** What the task has produced so far, if the agent asked for input before. */
  readonly artifacts: readonly Artifact[];
  /** Aborts when the client cancels the task, or the agent shuts down. */
  readonly signal: AbortSignal;
  /** The authenticated caller. */
  readonly principal: Principal | undefined;
  readonly tenant: string | undefined;
  /** URIs of the extensions that the client declared. */
  readonly extensions: readonly string[];
  /** Media types that the client accepts; empty if it accepts any. */
  readonly acceptedOutputModes: readonly string[];
  readonly metadata: Metadata;
  readonly log: Log;
}

/** What a generator gives: the steps of a task, and at its end the answer. */
export interface AgentUpdates {
  // `AsyncIterable` has only one type argument before TypeScript 5.6.
  [Symbol.asyncIterator](): AsyncIterator<AgentUpdate, Content | undefined | void>;
}

/**
 * Answers a message: a generator yields the steps of a task, and a plain function returns the whole answer. After the
 * states "input-required" and "auth-required" it is called again with the client's next message.
 */
export type Execute = (
  message: IncomingMessage,
  task: AgentTask,
) => AgentUpdates | MaybePromise<Content>;

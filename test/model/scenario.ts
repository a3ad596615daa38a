/**
 * `read`, `follow` and `collect` are declared idempotent; `watch` and `follow` are streams; `gather` and `collect` have
 * uploads; `note` is a notification.
 */
export type Kind = "read" | "write" | "note" | "watch" | "follow" | "gather" | "collect";

export const idempotentKinds: readonly Kind[] = ["read", "follow", "collect"];

/** What the explorer may do, and how often. */
export interface Scenario {
  readonly name: string;
  /** Calls in the order in which they are made; an array is a batch. */
  readonly calls: readonly (Kind | readonly Kind[])[];
  readonly may: {
    /** Lose a connection, with everything that has not arrived. */
    readonly lose: number;
    /** Cancel a call, or leave a stream. */
    readonly cancel: number;
    /** Shut the server down. */
    readonly stop: number;
    /** Let the server close a connection properly, and continue. */
    readonly finish: number;
    /** Kill the server, with its connections. */
    readonly crash: number;
    /** Start a new server in its place. */
    readonly start: number;
    /** Close the client. */
    readonly close: number;
    /** Let the time of a reconnect pass. */
    readonly wait: number;
    /** Let the time of every timeout pass. */
    readonly sleep: number;
  };
  /** Whether connecting takes time. @default false */
  readonly slowConnect?: boolean;
}

const never = {
  lose: 0,
  cancel: 0,
  stop: 0,
  finish: 0,
  crash: 0,
  start: 0,
  close: 0,
  wait: 0,
  sleep: 0,
};

/** The parts of the connection whose interleavings are explored. */
export const scenarios: readonly Scenario[] = [
  {
    name: "calls on a connection that is lost",
    calls: ["write", "read"],
    may: { ...never, lose: 2, cancel: 1, wait: 1 },
  },
  {
    name: "calls to a server that stops and is started again",
    calls: ["write", "read"],
    may: { ...never, stop: 1, start: 1, lose: 1, wait: 2, sleep: 1 },
  },
  {
    name: "calls to a server that is killed",
    calls: ["read", "write"],
    may: { ...never, crash: 1, start: 1, wait: 2, cancel: 1 },
  },
  {
    name: "calls on a connection that the server closes",
    calls: ["write", "read"],
    may: { ...never, finish: 1, lose: 1, cancel: 1, wait: 1 },
  },
  {
    name: "a batch and a notification",
    calls: [["write", "read"], "note"],
    may: { ...never, lose: 1, cancel: 1, stop: 1, start: 1 },
  },
  {
    name: "a stream with credit",
    calls: ["watch"],
    may: { ...never, lose: 1, cancel: 1, stop: 1, close: 1, sleep: 1 },
  },
  {
    name: "an idempotent stream that is repeated",
    calls: ["follow", "write"],
    may: { ...never, lose: 2, cancel: 1, wait: 1 },
  },
  {
    name: "an upload with credit",
    calls: ["gather"],
    may: { ...never, lose: 1, cancel: 1, stop: 1, close: 1, sleep: 1 },
  },
  {
    name: "an idempotent upload to a server that is started again",
    calls: ["collect", "write"],
    may: { ...never, lose: 1, stop: 1, start: 1, wait: 2 },
  },
  {
    name: "a client that closes while it connects",
    calls: ["write", "read", "note"],
    may: { ...never, lose: 1, cancel: 1, close: 1, wait: 1, sleep: 1 },
    slowConnect: true,
  },
];

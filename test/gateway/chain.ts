/** A gateway with one server behind it, for the contract of a wire. */
import { type CloseOptions, type Link, type Service, silentLog } from "callwire";
import { createGateway, type Gateway } from "callwire/gateway";
import { optionsOf } from "../conformance/profiles.ts";
import type { Front, Host } from "../transports/contract.ts";
import { type Fixture, serverOf } from "../transports/contract-methods.ts";

/** A server behind a gateway, in this process or in others. */
export interface Backend {
  readonly connect: (service?: Service) => Link;
  /** False if asking it for its description starts a process. @default true */
  readonly described?: boolean;
  close(options?: CloseOptions): Promise<void>;
}

export type StartBackend = (fixture: Fixture) => Promise<Backend>;

export interface Chain {
  readonly gateway: Gateway;
  readonly backend: Backend;
  /** Both at once, because a call that runs in both ends only when both allow it. */
  close(options?: CloseOptions): Promise<void>;
}

export async function startChain(fixture: Fixture, start: StartBackend): Promise<Chain> {
  const { limits } = serverOf(fixture);
  // A forwarded message may be longer, by its new id and its timeout.
  const maxMessageBytes = limits.maxMessageBytes + 256;
  const backend = await start({ ...fixture, limits: { ...limits, maxMessageBytes } });
  const options = fixture.profile === "contract" ? {} : optionsOf(fixture.profile);
  const version = options.versions?.includes("2.0") === false ? "1.0" : "2.0";
  const targets = { target: backend.connect };
  const gateway = await createGateway(
    {
      upstreams: { behind: { targets, per: "connection", version, healthCheck: false } },
      routes: [{ method: "*", to: "behind" }],
    },
    {
      log: silentLog,
      // More than the target accepts, so that the contract tests the target's own limit.
      timeoutMs: 120_000,
      ...options,
      limits,
      ...(backend.described === false ? { discover: false } : undefined),
    },
  );
  return {
    gateway,
    backend,
    async close(options) {
      await Promise.all([gateway.close(options), backend.close(options)]);
    },
  };
}

/** A chain that is reached over a wire. */
export async function serveChain(
  front: Front,
  fixture: Fixture,
  start: StartBackend,
): Promise<Host> {
  const { gateway, backend, close } = await startChain(fixture, start);
  const host = await front.serve(gateway);
  return {
    ...host,
    async close() {
      await Promise.all([host.close(), close()]);
    },
    async kill() {
      await host.kill();
      await gateway.close({ drainMs: 0 });
      await backend.close({ drainMs: 0 });
    },
  };
}

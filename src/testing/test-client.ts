import { type Client, type ClientOptions, createClient } from "../client/client.ts";
import { type DirectCaller, directLink } from "../protocol/direct-link.ts";
import type { Values } from "../protocol/json-value.ts";
import type { Methods } from "../server/method.ts";
import { createServer, type ServerOptions } from "../server/server.ts";

export interface TestClientOptions<V extends Values = "json"> extends DirectCaller, ServerOptions {
  /** Options of the client; those of the server, such as `use` and `clock`, are beside this one. @default the clock of the server */
  readonly client?: ClientOptions<unknown, V>;
}

/**
 * A client of methods without a wire, for tests of a server: params, results and errors are what a caller over a wire
 * sees, and nothing has to be closed.
 * @example
 * ```ts
 * import { testClient } from "callwire/testing";
 *
 * const { api } = testClient(methods, { principal: { id: "ann", roles: ["member"] } });
 * console.log(await api.math.add({ a: 2, b: 3 })); // 5
 * ```
 */
export function testClient<M extends Methods, V extends Values = "json">(
  methods: M,
  { principal, headers, client, ...options }: TestClientOptions<V> = {},
): Client<M, V> {
  const { clock, separator } = options;
  const link = directLink(createServer(methods, options), { principal, headers });
  return createClient<M>(link, {
    ...(clock === undefined ? undefined : { clock }),
    ...(separator === undefined ? undefined : { separator }),
    ...client,
  } as ClientOptions<M>) as Client<M, Values> as Client<M, V>;
}

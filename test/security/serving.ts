/** Servers with guards, and their logs. */
import { type Methods, method, type Principal, type ServerOptions, stream } from "callwire";
import { bearer, equalSecrets, type VerifyToken } from "callwire/security";

export const people: Readonly<Record<string, Principal>> = {
  "token-of-ann": { id: "ann", roles: ["reader"], scopes: ["notes:read"] },
  "token-of-root": { id: "root", roles: ["operator", "reader"] },
};

export const verifyToken: VerifyToken = (token) =>
  Object.entries(people).find(([known]) => equalSecrets(known, token))?.[1];

export const byToken = bearer(verifyToken);

export const ann = { authorization: "Bearer token-of-ann" };
export const root = { authorization: "Bearer token-of-root" };

export interface Counted {
  readonly methods: Methods;
  /** How often any handler ran. */
  calls: number;
}

/** Methods that count how often they run. */
export function counted(): Counted {
  const count: Counted = {
    calls: 0,
    methods: {
      who: method({}, (_, call) => {
        count.calls++;
        return call.principal?.id ?? null;
      }),
      echo: (value: unknown) => {
        count.calls++;
        return value;
      },
      fail: () => {
        count.calls++;
        throw new Error("the password is hunter2");
      },
      system: {
        reset: method({ access: { roles: ["operator"] } }, () => {
          count.calls++;
          return "reset";
        }),
        wipe: method({ access: { local: true } }, () => {
          count.calls++;
          return "wiped";
        }),
        tail: stream({ access: { roles: ["operator"] } }, function* () {
          count.calls++;
          yield "line";
        }),
      },
    },
  };
  return count;
}

export function request(method: string, params: unknown = [], id: number | string = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id });
}

/** An audit log in memory. */
export function trail(): { readonly lines: string[]; readonly sink: (line: string) => void } {
  const lines: string[] = [];
  return { lines, sink: (line) => void lines.push(line) };
}

export type Use = NonNullable<ServerOptions["use"]>;

/** The clients of the page. It takes only types and names from the contract, and no code of the server. */
import { createClient, type WireError } from "callwire";
import { httpLink } from "callwire/http";
import { ticketProtocols } from "callwire/security";
import { tanstackQuery } from "callwire/tanstack-query";
import { webSocketLink } from "callwire/ws";
import type { contract } from "../contract.ts";

type Contract = typeof contract;

let token: string | undefined;

/** Calls that read and write. */
export const client = createClient<Contract>(
  httpLink("/rpc", {
    credentials: () =>
      token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  }),
  // Params and results may be files.
  { values: "rich" },
);

/** Live changes. A browser sends no headers with a WebSocket, so each connection gets a ticket. */
const isOverHttp = document.documentElement.dataset.live === "http";
export const live = isOverHttp
  ? client
  : createClient<Contract>(
      webSocketLink("/rpc", {
        credentials: async () => ({
          protocols: ticketProtocols(await client.api.session.ticket()),
        }),
      }),
      { values: "rich" },
    );

export const rpc = tanstackQuery(client);

export async function login(name: string, password: string): Promise<void> {
  ({ token } = await client.api.session.login({ name, password }));
}

export type Failure = WireError;

import { createClient, createServer, directLink } from "callwire";
import { tanstackQuery } from "callwire/tanstack-query";
import { methods } from "../quickstart/methods.ts";

// In a page: createClient<typeof methods>(httpLink("/rpc")), with the type of the methods only.
const client = createClient<typeof methods>(directLink(createServer(methods)));

export const rpc = tanstackQuery(client);

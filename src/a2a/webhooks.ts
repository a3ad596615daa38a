import dns from "node:dns/promises";
import { BlockList, isIP } from "node:net";
import { JobQueue } from "../http/job-queue.ts";
import type { Webhooks } from "./push-sender.ts";

export interface WebhookOptions {
  /**
   * Host names, with or without a port, that may be in a private network or without TLS, such as those of a receiver in
   * the same cluster. All other webhooks must use `https` and have a public address; stops clients from
   * reaching the agent's own network through it. @default none
   */
  readonly allow?: readonly string[];
}

const privateAddresses = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
] as const)
  privateAddresses.addSubnet(network, bits, "ipv4");
for (const [network, bits] of [
  ["::", 96],
  ["64:ff9b::", 96],
  ["64:ff9b:1::", 48],
  ["100::", 64],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["fc00::", 7],
  ["fe80::", 10],
  ["fec0::", 10],
  ["ff00::", 8],
] as const)
  privateAddresses.addSubnet(network, bits, "ipv6");

/** Whether an address is reachable only from this machine or its network. */
function isPrivate(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return isPrivate(mapped);
  // Other ways to write an IPv4 address in IPv6.
  if (/^::ffff:/i.test(address)) return true;
  return privateAddresses.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/**
 * Half of the threads that Node has for this: clients choose the names, and those that take long to look up must leave some
 * for the rest of the process.
 */
const lookups = new JobQueue(2);
/** Most names that wait to be looked up. */
const maxWaitingLookups = 100;

interface Address {
  readonly address: string;
  readonly family: number;
}

function addressesOf(name: string, signal: AbortSignal | undefined): Promise<readonly Address[]> {
  const family = isIP(name);
  if (family !== 0) return Promise.resolve([{ address: name, family }]);
  if (lookups.waiting >= maxWaitingLookups)
    return Promise.reject(new Error("too many host names of webhooks are being looked up"));
  return new Promise((resolve, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    lookups.run((done) => {
      if (signal?.aborted === true) done();
      else dns.lookup(name, { all: true }).then(resolve, reject).finally(done);
    });
  });
}

/**
 * Sends push notifications to public addresses only. A name is resolved once for each attempt, and the connection
 * is made to the address that was checked, so that a name cannot lead elsewhere later. Redirects are not followed.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { webhooks } from "callwire/a2a/node";
 *
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   push: webhooks({ allow: ["hooks.internal:8443"] }),
 *   execute: (message) => message.text,
 * });
 * ```
 */
export function webhooks(options: WebhookOptions = {}): Webhooks {
  const allowed = new Set((options.allow ?? []).map((host) => host.toLowerCase()));
  const isAllowed = ({ host, hostname }: URL): boolean =>
    allowed.has(host) || allowed.has(hostname);
  /** The address to connect to; throws if the receiver is not public. */
  const resolve = async (url: URL, signal?: AbortSignal): Promise<Address> => {
    const found = await addressesOf(url.hostname.replace(/^\[|\]$/g, ""), signal);
    const usable = isAllowed(url) ? found : found.filter(({ address }) => !isPrivate(address));
    const [first] = usable;
    if (first === undefined || usable.length < found.length)
      throw new Error(`${url.hostname} is in a private network; see the option allow`);
    return first;
  };
  return {
    async refusal(text) {
      if (!URL.canParse(text)) return "must be an absolute URL";
      const url = new URL(text);
      if (url.username !== "" || url.password !== "") return "must not have a user";
      const isOwn = isAllowed(url);
      if (url.protocol !== "https:" && !(url.protocol === "http:" && isOwn))
        return "must begin with https://";
      // Any address will do, so its receiver may have none yet.
      if (isOwn) return undefined;
      try {
        await resolve(url);
        return undefined;
      } catch {
        return "must have a public address";
      }
    },
    async post(text, headers, body, signal) {
      const url = new URL(text);
      const { address, family } = await resolve(url, signal);
      // Loaded with the first notification, because it takes long and most agents send none.
      const { Agent, request } = await import("undici");
      const agent = new Agent({
        connect: {
          lookup: (_name, lookupOptions, found) =>
            lookupOptions.all === true
              ? found(null, [{ address, family }])
              : (found as (error: null, address: string, family: number) => void)(
                  null,
                  address,
                  family,
                ),
        },
      });
      try {
        const reply = await request(url, {
          method: "POST",
          headers,
          body,
          signal,
          dispatcher: agent,
        });
        await reply.body.dump({ limit: 16_384 });
        return reply.statusCode;
      } finally {
        void agent.destroy();
      }
    },
  };
}

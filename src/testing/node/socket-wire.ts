import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { type FramingChoice, framingOf } from "../../framing/named.ts";
import type { WireAbility } from "../conformance/case.ts";
import type { LineWire } from "../conformance/wire.ts";
import { framedLine } from "./framed-line.ts";
import { isLoopback } from "./loopback.ts";

export interface SocketConformanceOptions {
  /** As the server has it. @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
}

/**
 * TCP, TLS or a unix socket: `tcp://host:port`, `tls://host:port` or `unix:path`.
 * @example
 * ```ts
 * import { runConformance } from "callwire/testing";
 * import { socketConformanceWire } from "callwire/testing/node";
 *
 * const wire = socketConformanceWire("tcp://127.0.0.1:9000", { framing: "content-length" });
 * console.log((await runConformance(wire)).ok);
 * ```
 */
export function socketConformanceWire(
  address: string,
  options: SocketConformanceOptions = {},
): LineWire {
  const framing = framingOf(options.framing);
  const { name, dial, local } = targetOf(address);
  const abilities: WireAbility[] = ["stream", framing.name];
  if (local) abilities.push("loopback");
  return {
    kind: "line",
    name,
    address,
    abilities: new Set(abilities),
    open: (listener, signal) =>
      new Promise((resolve, reject) => {
        const socket = dial();
        socket.setNoDelay(true);
        const abort = (): void => {
          socket.destroy();
          reject(signal.reason);
        };
        signal.addEventListener("abort", abort);
        const { line, push } = framedLine(framing, listener, {
          write: (bytes) => void (socket.writable && socket.write(bytes)),
          close: () => socket.destroy(),
        });
        socket.once(name === "TLS" ? "secureConnect" : "connect", () => {
          signal.removeEventListener("abort", abort);
          resolve(line);
        });
        let reason = "the connection was closed";
        socket.on("error", (error: NodeJS.ErrnoException) => {
          // When each of several addresses refused, the error that holds them all has no text.
          reason = error.message || (error.code ?? reason);
          reject(new Error(reason, { cause: error }));
        });
        socket.on("data", push);
        socket.on("end", () => socket.end());
        socket.on("close", () => {
          signal.removeEventListener("abort", abort);
          listener.end(reason);
        });
        if (signal.aborted) abort();
      }),
  };
}

function targetOf(address: string): { name: string; dial: () => Socket; local: boolean } {
  if (address.startsWith("unix:")) {
    const path = address.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (path !== "") return { name: "unix socket", dial: () => connect({ path }), local: true };
  }
  const { protocol, hostname, port } = URL.canParse(address) ? new URL(address) : noUrl;
  if ((protocol !== "tcp:" && protocol !== "tls:") || hostname === "" || port === "") {
    throw new TypeError(
      `an address is tcp://host:port, tls://host:port or unix:path, not ${address}`,
    );
  }
  const where = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
  return protocol === "tcp:"
    ? { name: "TCP", dial: () => connect(where), local: isLoopback(hostname) }
    : { name: "TLS", dial: () => connectTls(where), local: isLoopback(hostname) };
}

const noUrl = { protocol: "", hostname: "", port: "" };

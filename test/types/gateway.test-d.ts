import {
  type Connect,
  createGateway,
  defineGateway,
  type GatewayFile,
  type UpstreamEntry,
} from "callwire/gateway";
import { stdioLink } from "callwire/stdio";
import { tcpLink, unixLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { configSchema } from "../../src/cli/gateway/schema.ts";

test("a route leads to an upstream that there is", () => {
  const upstreams = { math: { targets: { one: () => tcpLink({ port: 1 }) } } };
  void (() => createGateway({ upstreams, routes: [{ method: "*", to: "math" }] }));
  // @ts-expect-error "maths" is not an upstream.
  void (() => createGateway({ upstreams, routes: [{ method: "*", to: "maths" }] }));

  defineGateway({ upstreams: { math: { url: "ws://x" } }, routes: [{ method: "*", to: "math" }] });
  defineGateway({
    upstreams: { math: { url: "ws://x" } },
    // @ts-expect-error "maths" is not an upstream.
    routes: [{ method: "*", to: "maths" }],
  });
});

test("a link of a target accepts the service that it is given", () => {
  const connects: Connect[] = [
    (service) => tcpLink({ port: 1, service }),
    (service) => unixLink("/tmp/socket", { service }),
    (service) => webSocketLink("ws://x", { service }),
    (service) => stdioLink("tool", [], { service }),
  ];
  expectTypeOf(connects).toEqualTypeOf<Connect[]>();
});

type Checked = z.output<typeof configSchema>;

test("the type of a config file has what the command line checks it for", () => {
  expectTypeOf<keyof Checked>().toEqualTypeOf<"$schema" | Exclude<keyof GatewayFile, "use">>();
  expectTypeOf<keyof Checked["upstreams"][string]>().toEqualTypeOf<keyof UpstreamEntry>();
  expectTypeOf<keyof Checked["routes"][number]>().toEqualTypeOf<
    keyof GatewayFile["routes"][number]
  >();
  expectTypeOf<keyof NonNullable<Checked["limits"]>>().toEqualTypeOf<
    keyof NonNullable<GatewayFile["limits"]>
  >();
});

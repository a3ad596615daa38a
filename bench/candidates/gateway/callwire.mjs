import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createGateway } from "callwire/gateway";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";

export default async () => {
  const behind = fork(fileURLToPath(new URL("behind.mjs", import.meta.url)));
  const [upstream] = await once(behind, "message");
  const gateway = await createGateway({
    upstreams: {
      behind: { targets: { one: () => webSocketLink(`ws://127.0.0.1:${upstream}/rpc`) } },
    },
    routes: [{ method: "*", to: "behind" }],
  });
  const { port } = await serveHttp(gateway, { port: 0, host: "127.0.0.1" });
  return { port, path: "/rpc" };
};

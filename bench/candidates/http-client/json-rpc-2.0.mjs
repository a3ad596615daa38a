import { JSONRPCClient } from "json-rpc-2.0";
import { Pool } from "undici";

export default ({ origin }) => {
  const pool = new Pool(origin, { connections: 64 });
  const client = new JSONRPCClient(async (request) => {
    const { body } = await pool.request({
      path: "/rpc",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request),
    });
    client.receive(JSON.parse(await body.text()));
  });
  return (a, b) => client.request("add", [a, b]);
};

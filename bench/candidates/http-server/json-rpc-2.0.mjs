import { createServer } from "node:http";
import { JSONRPCServer } from "json-rpc-2.0";
import { listening } from "../listening.mjs";

export default async () => {
  const rpc = new JSONRPCServer();
  rpc.addMethod("add", ([a, b]) => a + b);
  rpc.addMethod("echo", ([message]) => message);
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", async () => {
      const reply = JSON.stringify(await rpc.receiveJSON(text));
      response.writeHead(200, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(reply),
      });
      response.end(reply);
    });
  });
  return { port: await listening(server) };
};

import { createServer } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { recordsReply } from "../../records.mjs";
import { listening } from "../listening.mjs";

const compressed = promisify(gzip);

export default async () => {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", async () => {
      const text = recordsReply(JSON.parse(Buffer.concat(chunks).toString()));
      const isCompressed = request.headers["accept-encoding"] !== undefined;
      const body = isCompressed ? await compressed(text) : Buffer.from(text);
      response.writeHead(200, {
        "content-type": "application/json",
        "content-length": body.length,
        ...(isCompressed && { "content-encoding": "gzip" }),
      });
      response.end(body);
    });
  });
  return { port: await listening(server), path: "/rpc" };
};

/** Requests for a long reply, by what they accept. The number of bytes of a reply is measured too. */
import zlib from "node:zlib";
import { records, recordsRequest } from "../records.mjs";
import { connect as connectHttp } from "./http-server.mjs";

const accepted = {
  "64 KiB, not compressed": [],
  "64 KiB, gzip": ["Accept-Encoding: gzip"],
  "64 KiB, as a browser accepts it": ["Accept-Encoding: gzip, deflate, br, zstd"],
};

export function connect(served) {
  const requests = Object.entries(accepted).map(([name, headers]) => [
    name,
    {
      text: recordsRequest,
      headers: ["Accept: application/json", ...headers],
      reply: { jsonrpc: "2.0", result: records, id: 1 },
      decoded,
    },
  ]);
  return connectHttp({ ...served, requests: Object.fromEntries(requests) });
}

/** The text of a body, decoded by its first bytes. Node 20 has no zstd, and its servers send none. */
function decoded(body) {
  const bytes = Buffer.from(body, "latin1");
  if (body.startsWith("{")) return body;
  if (bytes.readUInt16BE() === 0x1f8b) return zlib.gunzipSync(bytes).toString();
  if (bytes.readUInt32LE() === 0xfd2fb528) return zlib.zstdDecompressSync(bytes).toString();
  return zlib.brotliDecompressSync(bytes).toString();
}

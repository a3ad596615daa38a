/** By hand: no schema, and each reply is sent at once. */
import { createServer } from "node:http";
import { listening } from "../listening.mjs";

export default async () => {
  const server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const reply = answerText(text);
      response.writeHead(200, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(reply),
      });
      response.end(reply);
    });
  });
  return { port: await listening(server) };
};

function answerText(text) {
  const message = JSON.parse(text);
  return Array.isArray(message) ? `[${message.map(answerMessage).join()}]` : answerMessage(message);
}

function answerMessage({ id, method, params }) {
  switch (method) {
    case "add":
    case "addLater":
      return `{"jsonrpc":"2.0","result":${params.a + params.b},"id":${id}}`;
    case "echo":
    case "echoLater":
      return `{"jsonrpc":"2.0","result":${JSON.stringify(params.order)},"id":${id}}`;
    default:
      return `{"jsonrpc":"2.0","error":{"code":1000,"message":"out of stock"},"id":${id}}`;
  }
}

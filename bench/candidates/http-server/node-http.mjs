import { createServer } from "node:http";
import { answerText } from "../dispatch.mjs";
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

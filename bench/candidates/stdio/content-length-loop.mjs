import { isAscii } from "node:buffer";
import { answerText } from "../dispatch.mjs";

const head = "Content-Length: ";

export default () => {
  let unread = "";
  process.stdin.on("data", (chunk) => {
    // One character per byte: lengths count bytes, and slicing a string is cheaper than a buffer.
    const bytes = unread + chunk.latin1Slice();
    const plain = unread === "" && isAscii(chunk);
    let at = 0;
    let replies = "";
    for (;;) {
      const headEnd = bytes.indexOf("\r\n\r\n", at);
      if (headEnd === -1) break;
      const start = headEnd + 4;
      const end = start + Number(bytes.slice(at + head.length, headEnd));
      if (end > bytes.length) break;
      const body = bytes.slice(start, end);
      const reply = answerText(plain ? body : Buffer.from(body, "latin1").utf8Slice());
      replies += `${head}${Buffer.byteLength(reply)}\r\n\r\n${reply}`;
      at = end;
    }
    unread = bytes.slice(at);
    if (replies !== "") process.stdout.write(replies);
  });
  return { framing: "content-length" };
};

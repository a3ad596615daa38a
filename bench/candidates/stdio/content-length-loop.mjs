import { answerText } from "../dispatch.mjs";

const head = "Content-Length: ";

export default () => {
  let unread = Buffer.alloc(0);
  process.stdin.on("data", (chunk) => {
    const bytes = unread.length === 0 ? chunk : Buffer.concat([unread, chunk]);
    let at = 0;
    let replies = "";
    for (;;) {
      const headEnd = bytes.indexOf("\r\n\r\n", at);
      if (headEnd === -1) break;
      const start = headEnd + 4;
      const end = start + Number(bytes.latin1Slice(at + head.length, headEnd));
      if (end > bytes.length) break;
      const reply = answerText(bytes.utf8Slice(start, end));
      replies += `${head}${Buffer.byteLength(reply)}\r\n\r\n${reply}`;
      at = end;
    }
    unread = bytes.subarray(at);
    if (replies !== "") process.stdout.write(replies);
  });
  return { framing: "content-length" };
};

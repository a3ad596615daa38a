import { StringDecoder } from "node:string_decoder";
import { answerText } from "../dispatch.mjs";

export default () => {
  const decoder = new StringDecoder("utf8");
  let unread = "";
  process.stdin.on("data", (chunk) => {
    const lines = (unread + decoder.write(chunk)).split("\n");
    unread = lines.pop();
    let replies = "";
    for (const line of lines) replies += `${answerText(line)}\n`;
    if (replies !== "") process.stdout.write(replies);
  });
  return { framing: "newline" };
};

/** The least that answers JSON-RPC by hand: a switch and a concatenated reply, nothing validated. */

export function answerText(text) {
  const message = JSON.parse(text);
  return Array.isArray(message) ? answerBatch(message) : answerMessage(message);
}

export function answerMessage({ id: rawId, method, params }) {
  const id = typeof rawId === "number" ? rawId : JSON.stringify(rawId);
  switch (method) {
    case "add":
      return `{"jsonrpc":"2.0","result":${params[0] + params[1]},"id":${id}}`;
    case "echo":
      return `{"jsonrpc":"2.0","result":${JSON.stringify(params[0])},"id":${id}}`;
    default:
      return `{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":${id}}`;
  }
}

function answerBatch(messages) {
  let replies = `[${answerMessage(messages[0])}`;
  for (let i = 1; i < messages.length; i++) replies += `,${answerMessage(messages[i])}`;
  return `${replies}]`;
}

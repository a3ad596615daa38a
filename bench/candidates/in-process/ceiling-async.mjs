/** Async handlers by hand, as most people would write it: the promise is awaited, and the reply is one more promise. */
const methods = {
  add: async (a, b) => a + b,
  echo: async (message) => message,
};

export default () => answerText;

async function answerText(text) {
  const message = JSON.parse(text);
  if (!Array.isArray(message)) return answerMessage(message);
  return `[${(await Promise.all(message.map(answerMessage))).join()}]`;
}

async function answerMessage({ id, method, params }) {
  const result = await methods[method](...params);
  return `{"jsonrpc":"2.0","result":${JSON.stringify(result)},"id":${JSON.stringify(id)}}`;
}

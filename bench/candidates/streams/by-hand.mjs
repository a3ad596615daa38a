async function* texts(count) {
  for (let i = 0; i < count; i++) {
    yield `{"jsonrpc":"2.0","method":"$/stream","params":{"id":1,"value":${i}}}`;
  }
}

export default () =>
  async function* open(count) {
    for await (const text of texts(count)) yield JSON.parse(text).params.value;
  };

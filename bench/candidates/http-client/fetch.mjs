export default ({ origin }) => {
  let nextId = 0;
  return async (a, b) => {
    const response = await fetch(`${origin}/rpc`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"jsonrpc":"2.0","method":"add","params":[${a},${b}],"id":${nextId++}}`,
    });
    return (await response.json()).result;
  };
};

import { Pool } from "undici";

export default ({ origin }) => {
  const pool = new Pool(origin, { connections: 64 });
  let nextId = 0;
  return async (a, b) => {
    const { body } = await pool.request({
      path: "/rpc",
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"jsonrpc":"2.0","method":"add","params":[${a},${b}],"id":${nextId++}}`,
    });
    return JSON.parse(await body.text()).result;
  };
};

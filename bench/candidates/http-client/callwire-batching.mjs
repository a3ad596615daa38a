import { createClient } from "callwire";
import { httpLink } from "callwire/http";

export default ({ origin }) => {
  const { api } = createClient(httpLink(`${origin}/rpc`), { batch: true });
  return (a, b) => api.add(a, b);
};

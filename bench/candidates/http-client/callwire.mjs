import { createClient } from "callwire";
import { httpLink } from "callwire/http";

export default ({ origin }) => {
  const { api } = createClient(httpLink(`${origin}/rpc`));
  return (a, b) => api.add(a, b);
};

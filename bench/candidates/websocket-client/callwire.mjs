import { createClient } from "callwire";
import { webSocketLink } from "callwire/ws";

export default ({ origin }) => {
  const { api } = createClient(webSocketLink(origin.replace("http", "ws")));
  return (a, b) => api.add(a, b);
};

import { call, command } from "../start-up-program.mjs";

export default ({ origin }) => command(["gateway", "--to", `${origin}/rpc`, "--stdio"], call);

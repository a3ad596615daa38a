import { command } from "../start-up-program.mjs";

export default ({ origin }) =>
  command(["call", `${origin}/rpc`, "add", "[2,3]"], { expected: "5" });

import { command } from "../start-up-program.mjs";

export default () => command(["--version"]);

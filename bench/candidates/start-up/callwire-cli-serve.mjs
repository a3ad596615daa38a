import { call, command } from "../start-up-program.mjs";

export default () => command(["serve", "METHODS", "--stdio"], call);

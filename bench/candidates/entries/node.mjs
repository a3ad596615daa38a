import { program } from "../start-up-program.mjs";

export default () => () => program("");

import { importing } from "../start-up-program.mjs";

export default () => importing;

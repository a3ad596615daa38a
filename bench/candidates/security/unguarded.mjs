import { guarded } from "./guarded.mjs";

export default () => guarded({});

import { answerText } from "../dispatch.mjs";

export default () => answerText;

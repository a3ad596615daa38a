import { describe, expect } from "vitest";
import { profileNames, serverOf } from "./profiles.ts";
import { runTranscripts } from "./transcript.ts";

/** The methods of the profiles that return a promise, and files, which are read into the reply. */
const takesTime = /"(echo_later|fail_later|promised_bigint|weigh|weigh_few|drink|letter|blob)"/;

describe("in process", () => {
  for (const profile of profileNames) {
    const server = serverOf(profile);
    runTranscripts((text) => {
      const answer = server.receive(text);
      // A promise is made only where a handler makes one.
      if (!takesTime.test(text)) expect(answer).not.toBeInstanceOf(Promise);
      return answer;
    }, profile);
  }
});

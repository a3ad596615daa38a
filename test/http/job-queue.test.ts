import { expect, test } from "vitest";
import { JobQueue } from "../../src/http/job-queue.ts";

test("at most four jobs run at a time, and the others in their order", () => {
  const queue = new JobQueue(4);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  for (let i = 0; i < 6; i++) {
    queue.run((done) => {
      begun.push(i);
      ends.push(done);
    });
  }
  expect(begun).toEqual([0, 1, 2, 3]);
  ends[2]?.();
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  ends[0]?.();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
});

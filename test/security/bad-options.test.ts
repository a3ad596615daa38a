/** Options that are not numbers, for example from an unset variable, would disable what they limit. */
import {
  auditLog,
  discloseErrors,
  type ErrorLevel,
  memoryLimits,
  shedLoad,
  WebSocketTickets,
} from "callwire/security";
import { jwt } from "callwire/security/jwt";
import {
  createSigningKey,
  memoryNonces,
  signedMessages,
  signedParams,
  signedRequests,
} from "callwire/security/signing";
import { expect, test } from "vitest";

const { signer } = createSigningKey();
const keys = [signer];

test.each<[string, (value: number) => unknown]>([
  ["skewMs", (skewMs) => signedRequests({ keys, skewMs })],
  ["skewMs", (skewMs) => signedMessages({ keys, skewMs })],
  ["skewMs", (skewMs) => signedParams({ keys, skewMs })],
  ["skewMs", (skewMs) => jwt({ issuer: "i", audience: "a", keys: { keys: [] }, skewMs })],
  ["capacity", (capacity) => memoryNonces({ capacity })],
  ["quota", (quota) => memoryNonces({ quota })],
  ["windowMs", (windowMs) => memoryNonces({ windowMs })],
  ["maxKeys", (maxKeys) => memoryLimits({ maxKeys })],
  ["maxPending", (maxPending) => auditLog(() => {}, { maxPending })],
  ["validMs", (validMs) => new WebSocketTickets({ validMs })],
  ["maxTickets", (maxTickets) => new WebSocketTickets({ maxTickets })],
  ["maxPerPrincipal", (maxPerPrincipal) => new WebSocketTickets({ maxPerPrincipal })],
  ["maxLagMs", (maxLagMs) => shedLoad({ maxLagMs })],
])("%s is a number", (name, make) => {
  for (const value of [Number.NaN, -1]) {
    expect(() => make(value)).toThrow(
      new RegExp(`${name} must be a number of at least [01], not ${value}`),
    );
  }
});

test("fenceMs must be a number, or replays from before a restart would be accepted", () => {
  for (const fenceMs of [Number.NaN, "60000" as never]) {
    expect(() => memoryNonces({ fenceMs })).toThrow(`fenceMs must be a number, not ${fenceMs}`);
  }
});

test("the level of disclosed errors must be one of three", () => {
  expect(() => discloseErrors({ level: "staging" as ErrorLevel })).toThrow(
    '"level" must be one of production, internal, development, not "staging"',
  );
});

import { isWireHeader } from "./forwarded.ts";
import type { UpstreamConfig } from "./upstream.ts";

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;

/** Refuses settings of an upstream that would be taken for others without a word, or that break calls. */
export function checkUpstream(name: string, config: UpstreamConfig): void {
  const { healthCheck, circuitBreaker = {}, forwardHeaders = [], per, version } = config;
  const { maxConnections } = config;
  const check = (isRight: boolean, sentence: string): void => {
    if (!isRight) throw new TypeError(`the upstream "${name}": ${sentence}`);
  };
  const oneOf = (value: unknown, ...known: unknown[]): boolean =>
    value === undefined || known.includes(value);
  check(oneOf(per, "gateway", "connection"), `per is "gateway" or "connection", not "${per}"`);
  check(oneOf(version, "1.0", "2.0"), `version is "1.0" or "2.0", not "${version}"`);
  const { everyMs, timeoutMs } = healthCheck || {};
  const { failures, coolDownMs } = circuitBreaker;
  for (const [setting, value] of Object.entries({
    everyMs,
    timeoutMs,
    failures,
    coolDownMs,
    maxConnections,
  })) {
    // One that is none would ask without a pause, or never leave a target alone.
    const isRight = value === undefined || (typeof value === "number" && value > 0);
    check(isRight, `${setting} is a number above 0, not ${value}`);
  }
  check(Array.isArray(forwardHeaders), "forwardHeaders is a list of names");
  for (const header of forwardHeaders) {
    check(headerName.test(header), `forwardHeaders: "${header}" is no header`);
    // A caller could break calls with it, and have the target taken for one that fails.
    check(!isWireHeader(header), `forwardHeaders: "${header}" is for each wire to write itself`);
  }
}

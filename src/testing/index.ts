/** For tests: clients without a wire, mocks, a clock that the test controls, and a conformance kit for any JSON-RPC server. @module callwire/testing */

export {
  type FetchWireOptions,
  fetchConformanceWire,
  webSocketConformanceWire,
} from "./conformance/browser-wires.ts";
export {
  type ConformanceCase,
  type ConformanceExchange,
  type ConformanceGroup,
  type ConformanceLevel,
  conformanceGroups,
  conformanceLevels,
  type Expectation,
  type Outgoing,
  type Repeat,
  type ReplyPattern,
  type Text,
  type WireAbility,
} from "./conformance/case.ts";
export { conformanceCases } from "./conformance/cases.ts";
export type {
  ConformanceWire,
  ExchangeAnswer,
  ExchangeRequest,
  ExchangeWire,
  Line,
  LineListener,
  LineWire,
  Received,
} from "./conformance/conformance-wire.ts";
export { type ConformanceFixtures, demoFixtures, type FixtureName } from "./conformance/payload.ts";
export {
  type ConformancePlan,
  type ConformanceSelection,
  planConformance,
  selectCases,
} from "./conformance/plan.ts";
export type {
  ConformanceCounts,
  ConformanceReport,
  ConformanceResult,
  ExchangeRecord,
} from "./conformance/report.ts";
export { type ConformanceBadge, conformanceBadge, junitReport } from "./conformance/report.ts";
export { type ConformanceOptions, runConformance } from "./conformance/run.ts";
export { FakeClock } from "./fake-clock.ts";
export { type Mocks, mock } from "./mock.ts";
export { type MswHandlerOptions, type MswResolver, mswHandler } from "./msw-handler.ts";
export { type TestClientOptions, testClient } from "./test-client.ts";

/** What tests of callwire programs need: a clock that they move themselves. @module */
export { FakeClock } from "./fake-clock.ts";

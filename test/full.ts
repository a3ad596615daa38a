/** Whether this run is `npm run test:full`, which takes its time. */
export const isFull = process.env["CALLWIRE_TESTS"] === "full";

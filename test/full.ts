/** Whether this run is `npm run test:full`, which may take long. */
export const isFull = process.env["CALLWIRE_TESTS"] === "full";

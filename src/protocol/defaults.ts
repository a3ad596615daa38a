/** How long a call may take if neither its caller nor the server sets a time-out. */
export const defaultTimeoutMs = 60_000;

/** How long running calls may take to finish when a server or a connection closes. */
export const defaultDrainMs = 10_000;

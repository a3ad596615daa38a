/** Where the library reports; pino and loggers like it fit as they are. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Warnings and errors go to the console as they are; the rest is dropped. The short form, for clients in pages. */
export const plainLog: Log = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
};

/** A log that fails, on a full disk for example, must not take the calls with it. */
export function safeLog(log: Log): Log {
  const steady =
    (level: keyof Log) =>
    (fields: object, message: string): void => {
      try {
        log[level](fields, message);
      } catch {
        // There is nowhere left to say it.
      }
    };
  return {
    debug: steady("debug"),
    info: steady("info"),
    warn: steady("warn"),
    error: steady("error"),
  };
}

/** Drops everything. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Where the library reports; pino and loggers like it fit as they are. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Warnings and errors go to the console; the rest is dropped. */
export const consoleLog: Log = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
};

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

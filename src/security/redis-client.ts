/** A client of Redis, as the packages `redis` and `ioredis` have it. */
export type RedisClient =
  | { sendCommand(args: string[]): Promise<unknown> }
  | { call(command: string, ...args: string[]): Promise<unknown> };

/** Sends a command, however the client has it. */
export function redisCommand(
  client: RedisClient,
  ...args: [string, ...string[]]
): Promise<unknown> {
  // `ioredis` has both, and its `sendCommand` takes something else.
  return "call" in client ? client.call(...args) : client.sendCommand(args);
}

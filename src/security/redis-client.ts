/** A client of Redis, as the packages `redis` and `ioredis` have it. */
export type RedisClient =
  | { sendCommand(args: string[]): Promise<unknown> }
  | { call(command: string, ...args: string[]): Promise<unknown> };

export type SendCommand = (...args: [command: string, ...args: string[]]) => Promise<unknown>;

/** One way to send a command to either. */
export function commandsTo(client: RedisClient): SendCommand {
  return (...args) => ("sendCommand" in client ? client.sendCommand(args) : client.call(...args));
}

/** A client of Redis with the two methods of `ioredis`; one of them takes command objects of its own. */
export function likeIoredis(send: (args: string[]) => Promise<unknown>) {
  return {
    call: (...args: string[]) => send(args),
    sendCommand(command: { readonly name: string }): Promise<unknown> {
      return Promise.reject(new TypeError(`no command: ${typeof command.name}`));
    },
  };
}

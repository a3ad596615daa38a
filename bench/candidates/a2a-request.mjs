/** The request that every A2A agent gets: a task with one artifact, as a reply or as events. */
const request = (method) =>
  JSON.stringify({
    jsonrpc: "2.0",
    id: 7,
    method,
    params: { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] } },
  });

const version = "A2A-Version: 1.0";

/** The requests of the load generator. Ids and times differ, so that replies are matched by a pattern. */
export function asked(port, path) {
  return {
    port,
    path,
    requests: {
      SendMessage: {
        text: request("SendMessage"),
        pattern: '"text":"hello".*TASK_STATE_COMPLETED|TASK_STATE_COMPLETED.*"text":"hello"',
        headers: ["Accept: application/json", version],
      },
      SendStreamingMessage: {
        text: request("SendStreamingMessage"),
        pattern: "artifactUpdate[^]*TASK_STATE_COMPLETED",
        headers: ["Accept: text/event-stream", version],
      },
    },
    idle: {
      text: request("SendMessage"),
      headers: { "content-type": "application/json", "a2a-version": "1.0" },
    },
  };
}

import { setTimeout as pause } from "node:timers/promises";
import { text, tool } from "callwire/mcp";

/** Tools that send notifications before their reply. */
export const reporting = {
  test_tool_with_progress: tool({ description: "Reports how far it is" }, async (_, call) => {
    for (const progress of [0, 50, 100]) {
      call.progress({ progress, total: 100, message: `Completed step ${progress} of 100` });
      await pause(50);
    }
    return [text("Done after 3 reports")];
  }),
  test_tool_with_logging: tool({ description: "Sends messages to the log" }, async (_, call) => {
    for (const line of [
      "Tool execution started",
      "Tool processing data",
      "Tool execution completed",
    ]) {
      call.message("info", line);
      await pause(50);
    }
    return [text("Done after 3 messages")];
  }),
  test_logging_tool: tool({ description: "Sends one message to the log" }, (_, call) => {
    call.message("info", "This is heard only by those who asked for it");
    return [text("Logged")];
  }),
  test_reconnection: tool(
    { description: "Lets the client come back for its answer" },
    async (_, call) => {
      call.releaseStream();
      await pause(100);
      return [text("The answer was here when the client came back")];
    },
  ),
};

/** A second opinion: the same requests by wrk (Debian package wrk), a load generator of others. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Endings of the names of workloads that wrk runs. */
export const byWrk = ", by wrk";

const figures = /^figures (\d+) (\d+) ([\d.]+) ([\d.]+) ([\d.]+)$/m;

/** Runs wrk for the next whole second; resolves to the number of requests and how long they took. */
export async function wrkLoad(port, path, exchanges) {
  await run(["-v"]);
  const folder = mkdtempSync(join(tmpdir(), "bench-wrk-"));
  const file = join(folder, "requests.lua");
  writeFileSync(file, script(exchanges));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return async (ms) => {
    const time = `-d${Math.ceil(ms / 1000)}s`;
    const output = await run(["-t1", "-c64", time, "-s", file, `http://127.0.0.1:${port}${path}`]);
    const [, calls, errors, ...times] = (figures.exec(output) ?? []).map(Number);
    if (!(calls > 0) || errors > 0) throw new Error(`wrk failed: ${output.slice(-300)}`);
    const [p50Ms, p99Ms, p999Ms] = times;
    return { calls, p50Ms, p99Ms, p999Ms };
  };
}

function run(args) {
  return new Promise((resolve, reject) => {
    execFile("wrk", args, (error, stdout) => {
      if (error?.code === "ENOENT") reject(new Error("wrk is not installed (Debian package wrk)"));
      // It exits with 1 after showing its version.
      else if (error && args[0] !== "-v") reject(error);
      else resolve(stdout);
    });
  });
}

/** Sends the requests in turn, with headers as python-requests sends them. */
function script(exchanges) {
  return `
local bodies = {${exchanges.map(({ text }) => `[==[${text}]==]`).join(",\n")}}
local requests = {}
local next = 0

init = function()
  wrk.headers["User-Agent"] = "python-requests/2.34.2"
  wrk.headers["Accept-Encoding"] = "gzip, deflate"
  wrk.headers["Accept"] = "*/*"
  wrk.headers["Connection"] = "keep-alive"
  wrk.headers["Content-Type"] = "application/json"
  for i, body in ipairs(bodies) do requests[i] = wrk.format("POST", nil, nil, body) end
end

request = function()
  next = next % #requests + 1
  return requests[next]
end

done = function(summary, latency)
  local e = summary.errors
  local ms = function(share) return latency:percentile(share) / 1000 end
  io.write(string.format("figures %d %d %f %f %f\\n", summary.requests,
    e.connect + e.read + e.write + e.status + e.timeout, ms(50), ms(99), ms(99.9)))
end
`;
}

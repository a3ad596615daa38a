import { spawn } from "node:child_process";

/** Opens a page if there is a screen and a terminal; ignores failures. */
export function openBrowser(url: string): void {
  const { platform, env } = process;
  const hasScreen =
    platform === "darwin" || platform === "win32" || Boolean(env.DISPLAY ?? env.WAYLAND_DISPLAY);
  if (!hasScreen || !process.stdout.isTTY) return;
  const [command, ...args] =
    platform === "darwin"
      ? ["open", url]
      : platform === "win32"
        ? ["explorer.exe", url]
        : ["xdg-open", url];
  const child = spawn(command as string, args, { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}

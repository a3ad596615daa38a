import type { ReactNode } from "react";
import "../../board/page/main.css";

// Without an icon of its own, a browser would ask for one.
export const metadata = { title: "Board", icons: { icon: "data:," } };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    // Routes of Next cannot accept WebSockets, so the page gets live changes over HTTP.
    <html lang="en" data-live="http">
      <body>{children}</body>
    </html>
  );
}

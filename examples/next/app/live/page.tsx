"use client";

import dynamic from "next/dynamic";

/** The page of the board as it is. It runs in the browser only. */
export default dynamic(() => import("../../../board/page/page.tsx").then(({ Page }) => Page), {
  ssr: false,
});

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Page } from "./page.tsx";

const app = document.getElementById("app");
if (app !== null) {
  createRoot(app).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}

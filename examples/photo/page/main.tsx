import { createRoot } from "react-dom/client";
import { Photo } from "./photo.tsx";

createRoot(document.getElementById("root") as HTMLElement).render(<Photo />);

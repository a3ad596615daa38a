import type { ConformanceCase } from "./case.ts";
import { batchCases } from "./cases/batch.ts";
import { errorCases } from "./cases/errors.ts";
import { framingCases } from "./cases/framing.ts";
import { httpCases } from "./cases/http.ts";
import { idCases } from "./cases/ids.ts";
import { limitCases } from "./cases/limits.ts";
import { messageCases } from "./cases/messages.ts";
import { paramsCases } from "./cases/params.ts";
import { securityCases } from "./cases/security.ts";
import { versionCases } from "./cases/versions.ts";

/** The published list of cases. Cases may be added; the meaning of an id never changes. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...messageCases,
  ...idCases,
  ...paramsCases,
  ...versionCases,
  ...batchCases,
  ...errorCases,
  ...limitCases,
  ...httpCases,
  ...framingCases,
  ...securityCases,
];

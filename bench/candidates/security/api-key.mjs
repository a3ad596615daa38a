import { authenticate } from "callwire/security";
import { apiKeys } from "callwire/security/keys";
import { guarded, records } from "./guarded.mjs";

export default () =>
  guarded({ use: [authenticate(apiKeys(records))] }, { access: { roles: ["caller"] } });

/** `1 tool`, `2 tools`. */
export function counted(many: number, what: string): string {
  return many === 1 ? `1 ${what}` : `${many} ${what}s`;
}

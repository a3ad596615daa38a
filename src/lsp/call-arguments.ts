/** What follows the name of a method: its params, which some methods have not, and options. */
export type CallArguments<Params, Options> = undefined extends Params
  ? [params?: Params, options?: Options]
  : [params: Params, options?: Options];

/** The arguments after the name of a method: its params, if it has any, and options. */
export type CallArguments<Params, Options> = undefined extends Params
  ? [params?: Params, options?: Options]
  : [params: Params, options?: Options];

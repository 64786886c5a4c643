/** What JSON can hold. Values that cross a boundary (log, API, sandbox) are of this type. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export type JsonObject = { readonly [key: string]: Json };

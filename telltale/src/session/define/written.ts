import type { Json } from '../../kernel/json.ts';

/** A duration (`30s`, `5m`, or seconds) or a size (`64KiB`, or bytes), as in a manifest. */
export type Quantity = string | number;

/** What a manifest's schema takes, from a program: lists and maps may be read-only there. */
export type Written<T> = Json extends T
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Written<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: Written<T[Key]> }
      : T;

/** Where in a document: keys and list indices from its root. It always names a node that is in the document. */
export type IssuePath = readonly (string | number)[];

/**
 * One thing wrong (or doubtful) in a manifest. A mistake of a user is data: nothing here is ever thrown.
 * `missing` points at what lacks the key: at that node's own key where it has one, else at the node.
 */
export interface Issue {
  readonly severity: 'error' | 'warning';
  /** A literal that callers may switch on: unknown_key, wrong_type, not_allowed, missing, bad_duration, … */
  readonly code: string;
  readonly path: IssuePath;
  /** What to point at: the key itself (an unknown key) or its value. */
  readonly at: 'key' | 'value';
  /** What was found. */
  readonly message: string;
  /** What is allowed, or the nearest right name. */
  readonly hint?: string;
  /** Offset inside a string value, in UTF-16 code units (an error in a CEL expression). */
  readonly offset?: number;
}

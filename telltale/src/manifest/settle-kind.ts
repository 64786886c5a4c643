import type { Json, JsonObject } from '../lib/json.ts';
import { nearest } from '../lib/nearest.ts';
import type { Issue } from './diagnostic.ts';
import { withOurNames } from './other-names.ts';
import { MANIFEST_KINDS, type ManifestKind } from './schema/kinds.ts';
import { isMap } from './schema/plain-values.ts';
import { showValue } from './schema/show-value.ts';

export interface SettledKind {
  /** With the intended `kind`, and with our names for keys that also have others. */
  readonly document: Json;
  /** Undefined if it cannot be known. */
  readonly kind: ManifestKind | undefined;
  readonly issues: readonly Issue[];
}

const ALLOWED = `Allowed: ${MANIFEST_KINDS.join(', ')}.`;

/**
 * Finds the kind of a document. If `kind` or its value is misspelled and the intention is clear, it reports that and
 * continues with the intended kind, so that the user sees all mistakes at once.
 */
export function settleKind(document: Json): SettledKind {
  if (!isMap(document)) return { document, kind: undefined, issues: [notAMap(document)] };
  if (document.kind === undefined) {
    const near = Object.keys(document).find((key) => nearest(key, ['kind']) !== undefined);
    if (near === undefined) return { document, kind: undefined, issues: [MISSING] };
    const { [near]: kind, ...rest } = document;
    const settled = settleKind({ ...rest, kind: kind ?? null });
    const issues = settled.issues.map((issue) => ({ ...issue, path: [near] }));
    return { ...settled, issues: [misspeltKey(near), ...issues] };
  }
  const { kind } = document;
  const known = MANIFEST_KINDS.find((name) => name === kind);
  if (known === 'Workflow') return { kind: known, ...withOurNames(document as JsonObject) };
  if (known !== undefined) return { document, kind: known, issues: [] };
  const near = typeof kind === 'string' ? nearest(kind, MANIFEST_KINDS) : undefined;
  const meant = MANIFEST_KINDS.find((name) => name === near);
  return {
    document: meant === undefined ? document : { ...document, kind: meant },
    kind: meant,
    issues: [notAllowed(kind, meant)],
  };
}

const MISSING: Issue = {
  severity: 'error',
  code: 'missing',
  path: [],
  at: 'value',
  message: 'The manifest has no "kind".',
  hint: ALLOWED,
};

const notAMap = (document: Json): Issue => ({
  severity: 'error',
  code: 'wrong_type',
  path: [],
  at: 'value',
  message: `A manifest has to be a map, but this is ${showValue(document)}.`,
  hint: `It begins with "kind:". ${ALLOWED}`,
});

const misspeltKey = (key: string): Issue => ({
  severity: 'error',
  code: 'unknown_key',
  path: [key],
  at: 'key',
  message: `Unknown key "${key}" in a manifest.`,
  hint: 'Did you mean "kind"?',
});

const notAllowed = (kind: Json | undefined, meant: string | undefined): Issue => ({
  severity: 'error',
  code: 'not_allowed',
  path: ['kind'],
  at: 'value',
  message: `"kind" cannot be ${showValue(kind)}.`,
  hint: `${meant === undefined ? '' : `Did you mean "${meant}"? `}${ALLOWED}`,
});

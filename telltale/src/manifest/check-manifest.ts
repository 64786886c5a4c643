import type { Json } from '../kernel/json.ts';
import { nearest } from '../kernel/nearest.ts';
import type { Issue } from './issue.ts';
import { checkDocument } from './schema/checks/check-document.ts';
import { frozenCopy } from './schema/frozen-copy.ts';
import { isMap } from './schema/is-map.ts';
import { manifestJsonSchema } from './schema/json-schema.ts';
import { KINDS, MANIFEST_KINDS, type Manifest, type ManifestKind } from './schema/kinds.ts';
import { orderIssues } from './schema/order-issues.ts';
import { plainDocument } from './schema/plain-document.ts';
import { runSchema } from './schema/run-schema.ts';
import { showValue } from './schema/show-value.ts';

export type { Manifest, ManifestKind };
export { MANIFEST_KINDS, manifestJsonSchema };

export interface CheckedManifest {
  /** Only when there is no error; frozen deep, defaults applied, durations as `{ms}` and sizes as `{bytes}`. */
  readonly manifest?: Manifest;
  readonly issues: readonly Issue[];
}

/** Everything wrong with one document, at once. Never throws, whatever the value. */
export function checkManifest(value: unknown): CheckedManifest {
  const { document, issues } = plainDocument(value);
  if (issues.length > 0) return { issues };
  const kind = readKind(document);
  if (typeof kind !== 'string') return { issues: [kind] };
  const { output, issues: structural } = runSchema(KINDS[kind](), document);
  const found = orderIssues([...structural, ...checkDocument(kind, document)]);
  if (found.some((issue) => issue.severity === 'error')) return { issues: found };
  return { manifest: frozenCopy(output as Manifest), issues: found };
}

function readKind(document: Json): ManifestKind | Issue {
  const allowed = `Allowed: ${MANIFEST_KINDS.join(', ')}.`;
  const issue = { severity: 'error', at: 'value' } as const;
  if (!isMap(document))
    return {
      ...issue,
      code: 'wrong_type',
      path: [],
      message: `A manifest is a map; found ${showValue(document)}.`,
      hint: `It begins with "kind:". ${allowed}`,
    };
  const { kind } = document;
  if (kind === undefined) {
    const near = Object.keys(document).find((key) => nearest(key, ['kind']) !== undefined);
    if (near !== undefined)
      return {
        ...issue,
        at: 'key',
        code: 'unknown_key',
        path: [near],
        message: `A manifest has no key "${near}".`,
        hint: 'Did you mean "kind"?',
      };
    return { ...issue, code: 'missing', path: [], message: 'The manifest has no "kind".', hint: allowed };
  }
  const known = MANIFEST_KINDS.find((name) => name === kind);
  if (known !== undefined) return known;
  const near = typeof kind === 'string' ? nearest(kind, MANIFEST_KINDS) : undefined;
  const hint = `${near === undefined ? '' : `Did you mean "${near}"? `}${allowed}`;
  return {
    ...issue,
    code: 'not_allowed',
    path: ['kind'],
    message: `"kind" cannot be ${showValue(kind)}.`,
    hint,
  };
}

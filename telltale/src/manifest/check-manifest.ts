import type { Issue } from './issue.ts';
import { checkDocument } from './schema/checks/check-document.ts';
import { frozenCopy } from './schema/frozen-copy.ts';
import { manifestJsonSchema } from './schema/json-schema.ts';
import { KINDS, MANIFEST_KINDS, type Manifest, type ManifestKind } from './schema/kinds.ts';
import { orderIssues } from './schema/order-issues.ts';
import { plainDocument } from './schema/plain-document.ts';
import { runSchema } from './schema/run-schema.ts';
import { settleKind } from './settle-kind.ts';

export type { Manifest, ManifestKind };
export { MANIFEST_KINDS, manifestJsonSchema };

export interface CheckedManifest {
  /** Only when there is no error; frozen deep, defaults applied, durations as `{ms}` and sizes as `{bytes}`. */
  readonly manifest?: Manifest;
  readonly issues: readonly Issue[];
}

/** Everything wrong with one document, at once. Never throws, whatever the value. */
export function checkManifest(value: unknown): CheckedManifest {
  const { document: plain, issues } = plainDocument(value);
  if (issues.length > 0) return { issues };
  const { document, kind, issues: ofKind } = settleKind(plain);
  if (kind === undefined) return { issues: ofKind };
  const { output, issues: structural } = runSchema(KINDS[kind](), document);
  const found = orderIssues([...ofKind, ...structural, ...checkDocument(kind, document)]);
  if (found.some((issue) => issue.severity === 'error')) return { issues: found };
  return { manifest: frozenCopy(output as Manifest), issues: found };
}

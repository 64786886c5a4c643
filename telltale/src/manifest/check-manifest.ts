import { z } from 'zod';
import type { Json, JsonObject } from '../kernel/json.ts';
import { nearest } from '../kernel/nearest.ts';
import type { Issue } from './issue.ts';
import { isMap } from './schema/is-map.ts';
import { KINDS, MANIFEST_KINDS, type Manifest, type ManifestKind } from './schema/kinds.ts';
import { plainDocument } from './schema/plain-document.ts';
import { showValue } from './schema/show-value.ts';
import { translateIssue } from './schema/translate-issue.ts';

export type { Manifest, ManifestKind };
export { MANIFEST_KINDS };

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
  const result = KINDS[kind]._zod.run({ value: document, issues: [] }, { async: false });
  if (result instanceof Promise) throw new Error('unreachable: no schema is asynchronous');
  const found = result.issues.flatMap(translateIssue);
  if (found.some((issue) => issue.severity === 'error')) return { issues: found };
  return { manifest: frozenCopy(result.value as Json) as unknown as Manifest, issues: found };
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

/** A copy that shares nothing with the input or with the schemas' defaults. */
function frozenCopy(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(frozenCopy));
  return Object.freeze(
    Object.fromEntries(Object.entries(value).map(([key, item]) => [key, frozenCopy(item)])),
  );
}

/** The JSON Schema (2020-12) of a kind, for editors: made from the same definitions that `checkManifest` uses. */
export function manifestJsonSchema(kind: ManifestKind): JsonObject {
  const schema = z.toJSONSchema(KINDS[kind], {
    io: 'input',
    target: 'draft-2020-12',
    unrepresentable: 'any',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      delete jsonSchema.expects;
    },
  });
  return {
    ...schema,
    $id: `https://telltale.dev/schema/${kind}.json`,
    title: `Telltale ${kind}`,
  } as unknown as JsonObject;
}

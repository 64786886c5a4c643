import type { Json } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { type Finding, MANIFEST_LIMITS, quoted } from '../diagnostic.ts';
import { BUILTIN_TOOLS } from '../schema/agent-input.ts';
import { IMPORT_LISTS, type ImportList } from './project.ts';

/** One entry of an agent's `import`, before it is resolved. */
export interface ImportEntry {
  readonly list: ImportList;
  readonly index: number;
  readonly what:
    | { readonly type: 'file'; readonly path: string }
    | { readonly type: 'glob'; readonly pattern: string }
    | { readonly type: 'builtin'; readonly name: string }
    | { readonly type: 'mcp'; readonly name: string }
    | { readonly type: 'wrong'; readonly finding: Finding };
}

/**
 * The entries of a document's `import`. Entries of the wrong shape or beyond the limit are omitted, because the schema
 * has reported them.
 */
export function importEntries(document: Json): readonly ImportEntry[] {
  const imports = isMap(document) ? document.import : undefined;
  if (!isMap(imports)) return [];
  return IMPORT_LISTS.flatMap((list) => {
    const entries = imports[list];
    if (!Array.isArray(entries)) return [];
    return entries.slice(0, MANIFEST_LIMITS.importEntries).flatMap((entry, index): ImportEntry[] => {
      const what = readEntry(entry as Json, list);
      return what === undefined ? [] : [{ list, index, what }];
    });
  });
}

function readEntry(entry: Json, list: ImportList): ImportEntry['what'] | undefined {
  if (typeof entry === 'string') return readPath(entry, list);
  const server = isMap(entry) ? entry.mcp : undefined;
  if (list !== 'tools' || !isMap(server) || typeof server.name !== 'string') return undefined;
  return { type: 'mcp', name: server.name };
}

function readPath(entry: string, list: ImportList): ImportEntry['what'] | undefined {
  if (entry === '') return undefined;
  const builtin = /^builtin:(.*)$/s.exec(entry)?.[1];
  if (builtin !== undefined) {
    if (list !== 'tools') return { type: 'wrong', finding: builtinsAreTools(entry, list) };
    return BUILTIN_TOOLS.some((tool) => tool === builtin) ? { type: 'builtin', name: builtin } : undefined;
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(entry)) return { type: 'wrong', finding: notAnAddress(entry) };
  if (/[\0\n\r]/.test(entry)) return { type: 'wrong', finding: oddCharacters(entry) };
  return isGlob(entry) ? { type: 'glob', pattern: entry } : { type: 'file', path: entry };
}

const isGlob = (path: string) => /[*?[\]{}!()]/.test(path);
export const isMap = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Splits a glob into its leading folders without wildcards and the rest. Undefined if `..` follows a wildcard or is in
 * braces, because then the glob could leave any folder.
 */
export function splitGlob(pattern: string): { readonly folder: string; readonly rest: string } | undefined {
  const segments = pattern.split('/');
  const first = segments.findIndex(isGlob);
  const rest = segments.slice(first);
  if (rest.some((segment) => segment.split(/[{},|()]/).includes('..'))) return undefined;
  const folder = segments.slice(0, first).join('/');
  return { folder: folder === '' && pattern.startsWith('/') ? '/' : folder, rest: rest.join('/') };
}

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

const builtinsAreTools = (entry: string, list: ImportList) => {
  const name = entry.slice('builtin:'.length);
  const isTool = BUILTIN_TOOLS.some((tool) => tool === name);
  const hint = isTool ? 'List it under "tools".' : suggest(name, BUILTIN_TOOLS, 'Built-in tools');
  return error(
    'builtin_unknown',
    `${quoted(entry)} is not valid under "${list}", because only tools are built in.`,
    hint,
  );
};

const notAnAddress = (entry: string) =>
  error(
    'import_not_local',
    `${quoted(entry)} is an address, but only files of this project can be imported.`,
    'Download it, and import the file.',
  );

const oddCharacters = (entry: string) =>
  error(
    'import_not_local',
    `The path ${quoted(entry)} contains a line break or a zero byte.`,
    'Write one path per list entry.',
  );

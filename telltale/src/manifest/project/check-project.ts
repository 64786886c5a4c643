import { createHash } from 'node:crypto';
import type { ManifestKind } from '../check-manifest.ts';
import type { Diagnostic } from '../diagnostic.ts';
import { agentScope } from './agent-scope.ts';
import { canonicalJson } from './canonical-json.ts';
import { checkAgentState } from './check-agent-state.ts';
import { checkCallable } from './check-callable.ts';
import { checkPermissions } from './check-permissions.ts';
import { checkReferences } from './check-references.ts';
import { checkWorkflowCycles } from './check-workflow-cycles.ts';
import { KIND_OF_LIST, type LoadedManifest, type ResolvedImport } from './project.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';
import { builtinNameTaken, nameTaken, wrongKind } from './project-findings.ts';

/** What can be said only of manifests together. Pure. */
export function checkProject(
  documents: readonly ProjectDocument[],
  links: readonly ImportLink[],
  broken: ReadonlySet<string>,
): { readonly manifests: readonly LoadedManifest[]; readonly diagnostics: readonly Diagnostic[] } {
  const byFile = groupBy(documents, ({ file }) => file);
  const byOwner = groupBy(links, ({ owner }) => owner);
  const scopes = documents
    .filter(({ kind }) => kind === 'Agent')
    .map((agent) => agentScope(agent, byOwner.get(agent) ?? [], byFile, broken));
  const diagnostics = [
    ...checkNames(documents),
    ...[...byOwner].flatMap(([owner, own]) => checkImports(owner, own, byFile)),
    ...checkReferences(documents, scopes),
    ...checkCallable(documents, scopes),
    ...checkAgentState(documents, scopes),
    ...checkWorkflowCycles(documents),
    ...checkPermissions(documents, byOwner, byFile),
  ];
  const manifests = documents.flatMap((document) => loaded(document, byOwner.get(document) ?? [], byFile));
  return { manifests: Object.freeze(manifests), diagnostics };
}

function checkNames(documents: readonly ProjectDocument[]): Diagnostic[] {
  const first = new Map<string, ProjectDocument>();
  return documents.flatMap((each) => {
    if (each.kind === undefined || each.name === undefined) return [];
    const id = `${each.kind}/${each.name}`;
    const other = first.get(id);
    if (other === undefined) {
      first.set(id, each);
      return [];
    }
    const finding = nameTaken(each.kind, each.name, other.label, other.line);
    return [each.document.diagnose({ path: ['name'], at: 'value' }, finding)];
  });
}

type ByFile = ReadonlyMap<string, readonly ProjectDocument[]>;

/**
 * A document of another kind than its list's is an error, unless the same agent lists its file under the right kind
 * too: a file that holds a tool and its relic may be named in both lists.
 */
function checkImports(owner: ProjectDocument, links: readonly ImportLink[], byFile: ByFile): Diagnostic[] {
  const listed = new Set(
    links.flatMap(({ entry, files }) => files.map((file) => `${KIND_OF_LIST[entry.list]} ${file}`)),
  );
  const tools = new Map(
    links
      .flatMap((link) => (link.entry.list === 'tools' ? link.files : []))
      .flatMap((file) => byFile.get(file) ?? [])
      .flatMap((each) =>
        each.kind === 'Tool' && each.name !== undefined ? [[each.name, each] as const] : [],
      ),
  );
  return links.flatMap(({ entry, files }) => {
    const { list, index, what } = entry;
    const at = { path: ['import', list, index], at: 'value' } as const;
    const wanted = KIND_OF_LIST[list];
    const imported = files.flatMap((file) => byFile.get(file) ?? []);
    const found = imported.flatMap(({ kind, label, line, file }) => {
      const isMisplaced = kind !== undefined && kind !== wanted && !listed.has(`${kind} ${file}`);
      return isMisplaced ? [owner.document.diagnose(at, wrongKind(list, wanted, label, line, kind))] : [];
    });
    const clash = what.type === 'builtin' ? tools.get(what.name) : undefined;
    if (clash?.name !== undefined)
      found.push(owner.document.diagnose(at, builtinNameTaken(clash.name, clash.label, clash.line)));
    return found;
  });
}

function loaded(each: ProjectDocument, links: readonly ImportLink[], byFile: ByFile): LoadedManifest[] {
  const { manifest, value, code, fromEnv = [] } = each.document;
  if (manifest === undefined || each.name === undefined) return [];
  const kind = each.kind as ManifestKind;
  return [
    Object.freeze({
      id: `${kind}/${each.name}`,
      kind,
      name: each.name,
      manifest,
      file: each.file,
      line: each.line,
      hash: createHash('sha256').update(canonicalJson(value)).digest('hex'),
      imports: Object.freeze(links.flatMap((link) => resolvedImport(link, byFile))),
      ...(fromEnv.length === 0 ? {} : { fromEnv: Object.freeze(fromEnv) }),
      ...(code === undefined ? {} : { code }),
    }),
  ];
}

function resolvedImport({ entry, files }: ImportLink, byFile: ByFile): ResolvedImport[] {
  const { list, what } = entry;
  switch (what.type) {
    case 'wrong':
      return [];
    case 'builtin':
    case 'mcp':
      return [Object.freeze({ type: what.type, list: 'tools', name: what.name })];
    case 'file':
    case 'glob': {
      const wanted = files
        .flatMap((file) => byFile.get(file) ?? [])
        .filter(({ kind }) => kind === KIND_OF_LIST[list]);
      const ids = wanted.flatMap(({ kind, name }) => (name === undefined ? [] : [`${kind}/${name}`]));
      const written = what.type === 'file' ? what.path : what.pattern;
      return [Object.freeze({ type: 'files', list, entry: written, manifests: Object.freeze(ids) })];
    }
  }
}

function groupBy<Key, Item>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

import { createHash } from 'node:crypto';
import { nearest } from '../../lib/nearest.ts';
import type { ManifestKind } from '../check-manifest.ts';
import { type Diagnostic, type Finding, quoted } from '../diagnostic.ts';
import { BUILTIN_TOOLS } from '../schema/agent-input.ts';
import { stepLists } from '../schema/checks/check-states.ts';
import { type DocumentNode, documentNode, findCycles, showCycle } from '../schema/checks/document-node.ts';
import { canonicalJson } from './canonical-json.ts';
import { checkAgentState } from './check-agent-state.ts';
import { checkPermissions } from './check-permissions.ts';
import { type AgentScope, agentScope, checkReferences } from './check-references.ts';
import { KIND_OF_LIST, type LoadedManifest, type ResolvedImport } from './project.ts';
import type { ImportLink, ProjectDocument } from './project-document.ts';
import { builtinNameTaken, nameTaken, wrongKind } from './source-cache.ts';

/** The checks that need several manifests. */
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
    ...Array.from(byOwner, ([owner, own]) => checkImports(owner, own, byFile)).flat(),
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
 * A document in an import list of another kind is an error, unless the same agent also lists its file under the right
 * kind: a file with a tool and its relic may be in both lists.
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

interface Calls {
  readonly document: ProjectDocument;
  /** The `target`s of its workflow steps. */
  readonly targets: readonly DocumentNode[];
}

/** Workflows whose steps call each other in a cycle: each call would wait for the next one until the depth limit. */
function checkWorkflowCycles(documents: readonly ProjectDocument[]): Diagnostic[] {
  const calls = new Map<string, Calls>();
  for (const document of documents)
    if (document.kind === 'Workflow' && document.name !== undefined && !calls.has(document.name))
      calls.set(document.name, { document, targets: targetsOf(documentNode(document.document.value)) });
  const graph = new Map(
    [...calls].map(([name, { targets }]) => [name, targets.flatMap((target) => target.text() ?? [])]),
  );
  return findCycles(graph).flatMap((cycle) => {
    const first = calls.get(cycle[0] ?? '');
    const target = first?.targets.find((each) => each.text() === cycle[1]);
    if (first === undefined || target === undefined) return [];
    return [
      first.document.document.diagnose(
        { path: target.path, at: 'value' },
        {
          severity: 'error',
          code: 'cycle',
          message:
            cycle.length === 2
              ? `The workflow "${cycle[0]}" calls itself.`
              : `These workflows call each other: ${showCycle(cycle)}.`,
          hint: 'Break the cycle. Use a loop step to repeat, or a trigger to start the next workflow.',
        },
      ),
    ];
  });
}

const targetsOf = (workflow: DocumentNode): readonly DocumentNode[] =>
  stepLists(workflow).flatMap(({ steps }) =>
    steps.flatMap((step) => (step.at('type').value === 'workflow' ? [step.at('target')] : [])),
  );

/** The keys of steps that name what the working agent must be able to call. */
const LISTS = { task: 'evidence', plan: 'tools' } as const;
const KINDS = ['tool', 'relic', 'agent', 'workflow'] as const;

/**
 * Checks the evidence of a task and the tools of a plan against what the working agent can call: the step's own agent,
 * or each one that imports the workflow. If the agent is not known, a miss is a warning.
 */
function checkCallable(documents: readonly ProjectDocument[], scopes: readonly AgentScope[]): Diagnostic[] {
  return documents.flatMap((each) => {
    if (each.kind !== 'Workflow') return [];
    const importers = scopes.filter(({ documents: inside }) => inside.has(each));
    return stepLists(documentNode(each.document.value))
      .flatMap(({ steps }) => steps)
      .flatMap((step) =>
        namesIn(step).flatMap((place) => {
          const workers = workersOf(step, importers, scopes);
          const name = place.text() ?? '';
          const finding = workers.length === 0 ? unplaced(name, documents) : missing(name, workers);
          return finding === undefined
            ? []
            : [each.document.diagnose({ path: place.path, at: 'value' }, finding)];
        }),
      );
  });
}

function namesIn(step: DocumentNode): readonly DocumentNode[] {
  const type = step.at('type').value;
  if (type !== 'task' && type !== 'plan') return [];
  return step
    .at(LISTS[type])
    .items()
    .filter((item) => item.text() !== undefined);
}

/** Undefined if the agent is not known: its file was not read, or nobody imports the workflow. */
function workersOf(
  step: DocumentNode,
  importers: readonly AgentScope[],
  scopes: readonly AgentScope[],
): readonly AgentScope[] {
  const agent = step.at('agent').text();
  return agent === undefined ? importers : scopes.filter((scope) => scope.agent.name === agent);
}

function missing(name: string, workers: readonly AgentScope[]): Finding | undefined {
  const without = workers.find((scope) => !canCall(name, scope));
  if (without === undefined) return undefined;
  const known = KINDS.flatMap((kind) => [...without.names[kind]]);
  const near = nearest(name, known);
  const isCertain = !KINDS.some((kind) => without.partial.has(kind));
  return {
    severity: isCertain ? 'error' : 'warning',
    code: 'unknown_target',
    message: `The agent ${quoted(without.agent.name ?? '?')} has no tool, relic, agent or workflow named ${quoted(name)}.`,
    hint:
      near !== undefined
        ? `Did you mean ${quoted(near)}?`
        : known.length === 0
          ? `It imports none. Add it to "import" of ${without.agent.label}.`
          : `It has: ${known.slice(0, 20).join(', ')}.`,
  };
}

/** For a step whose agent is not known. */
function unplaced(name: string, documents: readonly ProjectDocument[]): Finding | undefined {
  const isThere = documents.some((each) => each.name === name && CALLED.has(each.kind ?? ''));
  const isBuiltin = [...prefixesOf(name), name].some((part) => BUILTIN_TOOLS.some((tool) => tool === part));
  if (isThere || isBuiltin) return undefined;
  return {
    severity: 'warning',
    code: 'unknown_target',
    message: `No tool, relic, agent or workflow named ${quoted(name)} is among the manifests that were checked.`,
    hint: 'Validate it together with the agent that works on this step.',
  };
}

const CALLED: ReadonlySet<string> = new Set(['Tool', 'Relic', 'Agent', 'Workflow']);

/** A tool may be one of several that a server or a built-in provides: `github.create_issue`, `filesystem_read`. */
function canCall(name: string, { names }: AgentScope): boolean {
  if (KINDS.some((kind) => names[kind].has(name))) return true;
  return prefixesOf(name).some(
    (prefix) =>
      names.server.has(prefix) || (names.tool.has(prefix) && BUILTIN_TOOLS.some((tool) => tool === prefix)),
  );
}

const prefixesOf = (name: string): readonly string[] =>
  [...name.matchAll(/[./:_]/g)].map(({ index }) => name.slice(0, index));
